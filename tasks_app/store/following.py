"""Connections that go where their route says, and that drop a server which is not the master any more.

A client library's connection stays with its server as long as the socket is open. Behind a failover that is wrong: the
old master answers each write with an error for ever, and each idle connection has to find that out for itself.
"""

from __future__ import annotations

from typing import Any, Literal

import redis.asyncio.connection as aio
import redis.connection as blocking
from redis.exceptions import (
    AskError,
    ClusterDownError,
    ConnectionError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TimeoutError,
)

from tasks_app.store.routes import Route

Transport = Literal["tcp", "tls", "unix"]

_WRONG_SERVER = (ConnectionError, TimeoutError, ReadOnlyError, AskError, ClusterDownError)
_WRONG_SERVER_WORDS = ("MASTERDOWN", "UNBLOCKED", "TRYAGAIN")


class HandshakeRefused(ConnectionError):
    """The server answers, but not to what a new connection asks for, such as a database it does not have."""


def _is_wrong_server(error: RedisError) -> bool:
    return isinstance(error, _WRONG_SERVER) or str(error).startswith(_WRONG_SERVER_WORDS)


class _Following(blocking.AbstractConnection):
    def __init__(self, *, route: Route, **options: Any) -> None:
        super().__init__(**options)
        self._route = route
        self._epoch = route.epoch

    def connect_check_health(self, check_health: bool = True, retry_socket_connect: bool = True) -> None:
        if self.is_connected and self._epoch != self._route.epoch:
            self.disconnect()  # type: ignore[no-untyped-call]
        if not self.is_connected:
            self._epoch = self._route.epoch
            if (node := self._route.locate()) is not None:
                self.host, self.port = node
        try:
            super().connect_check_health(check_health, retry_socket_connect)
        except ResponseError as error:
            raise HandshakeRefused(str(error)) from error

    def read_response(self, *args: Any, **options: Any) -> Any:
        try:
            return super().read_response(*args, **options)
        except RedisError as error:
            if _is_wrong_server(error):
                self._route.distrust(self._epoch)
                self.disconnect()  # type: ignore[no-untyped-call]
            raise


class _FollowingAsync(aio.AbstractConnection):
    def __init__(self, *, route: Route, **options: Any) -> None:
        super().__init__(**options)
        self._route = route
        self._epoch = route.epoch

    async def connect_check_health(self, check_health: bool = True, retry_socket_connect: bool = True) -> None:
        if self.is_connected and self._epoch != self._route.epoch:
            await self.disconnect()
        if not self.is_connected:
            self._epoch = self._route.epoch
            if (node := await self._route.locate_async()) is not None:
                self.host, self.port = node
        try:
            await super().connect_check_health(check_health, retry_socket_connect)
        except RedisError as error:
            # Over a unix socket the library wraps what the server has answered.
            answer = error.__cause__ if isinstance(error.__cause__, RedisError) else error
            if isinstance(answer, ResponseError):
                raise HandshakeRefused(str(answer)) from error
            if answer is not error:
                raise answer from None
            raise

    async def read_response(self, *args: Any, **options: Any) -> Any:
        try:
            return await super().read_response(*args, **options)
        except RedisError as error:
            if _is_wrong_server(error):
                self._route.distrust(self._epoch)
                await self.disconnect(nowait=True)
            raise


class _PackingInC(_FollowingAsync):
    """Packs its commands with hiredis, as the library's blocking connections do.

    Its asyncio ones pack in Python, which took a seventh of a busy worker's processor time.
    """

    pack_command = staticmethod(blocking.HiredisRespSerializer().pack)  # type: ignore[assignment]


class _Tcp(_Following, blocking.Connection): ...


class _Tls(_Following, blocking.SSLConnection): ...


class _Unix(_Following, blocking.UnixDomainSocketConnection): ...


class _TcpAsync(_PackingInC, aio.Connection): ...


class _TlsAsync(_PackingInC, aio.SSLConnection): ...


class _UnixAsync(_PackingInC, aio.UnixDomainSocketConnection): ...


KINDS: dict[Transport, type[Any]] = {"tcp": _Tcp, "tls": _Tls, "unix": _Unix}
ASYNC_KINDS: dict[Transport, type[Any]] = {"tcp": _TcpAsync, "tls": _TlsAsync, "unix": _UnixAsync}
