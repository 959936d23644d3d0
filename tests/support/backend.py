"""The server behind the store's tests: a real one, or fakeredis for the quick loop without a server."""

from __future__ import annotations

from typing import Protocol

import fakeredis
import redis
import redis.asyncio

from tasks_app.store.connections import connect, connect_async
from tests.support.server import PrivateServer


class Backend(Protocol):
    """Makes clients of one server, all configured as the product does it."""

    name: str

    def client(self) -> redis.Redis: ...

    def async_client(self) -> redis.asyncio.Redis: ...

    def reset(self) -> None: ...

    def close(self) -> None: ...


class RealBackend:
    """A private server process."""

    name = "real"

    def __init__(self) -> None:
        self.server = PrivateServer()
        self.server.start()

    @property
    def url(self) -> str:
        return self.server.url

    def client(self) -> redis.Redis:
        return connect(self.url)

    def async_client(self) -> redis.asyncio.Redis:
        return connect_async(self.url)

    def reset(self) -> None:
        client = self.client()
        client.flushall()
        client.close()

    def close(self) -> None:
        self.server.close()


class FakeBackend:
    """fakeredis with Lua. RESP2, as stream replies inside scripts have another shape otherwise."""

    name = "fake"

    def __init__(self) -> None:
        self._server = fakeredis.FakeServer(version=(7,))

    def client(self) -> redis.Redis:
        return fakeredis.FakeRedis(server=self._server, protocol=2)

    def async_client(self) -> redis.asyncio.Redis:
        return fakeredis.FakeAsyncRedis(server=self._server, protocol=2)

    def reset(self) -> None:
        client = self.client()
        client.flushall()
        client.close()

    def close(self) -> None:
        """Nothing to stop: the server is an object."""
