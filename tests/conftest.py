"""What every test may ask for. ``--redis=fake`` runs the store and the API on fakeredis instead of a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from tests.support.builders import make_config, make_submission
from tests.support.server import PrivateServer

if TYPE_CHECKING:
    import redis
    import redis.asyncio

    from tasks_app.domain.config import Config
    from tasks_app.domain.submission import Submission
    from tasks_app.store.commands import Commands
    from tasks_app.store.leases import Leases
    from tasks_app.store.presence import Presence
    from tasks_app.store.queries import Queries
    from tasks_app.store.schedule import Schedule
    from tests.support.backend import Backend


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--redis", choices=("real", "fake"), default="real", help="server behind the tests")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real_redis: needs a real server; skipped with --redis=fake")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--redis") == "real":
        return
    skip = pytest.mark.skip(reason="needs a real server")
    for item in items:
        if item.get_closest_marker("real_redis"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def backend(pytestconfig: pytest.Config) -> Iterator[Backend]:
    """The server of this run. Tests ask for a client; only what needs a URL asks for ``redis_url``."""
    # Imported here, so that the domain's tests run where no store can be imported.
    from tests.support.backend import FakeBackend, RealBackend

    chosen: Backend = RealBackend() if pytestconfig.getoption("--redis") == "real" else FakeBackend()
    yield chosen
    chosen.close()


@pytest.fixture
def redis_client(backend: Backend) -> Iterator[redis.Redis]:
    """A sync client of an empty server."""
    backend.reset()
    client = backend.client()
    yield client
    client.close()


@pytest_asyncio.fixture
async def redis_async(redis_client: redis.Redis, backend: Backend) -> AsyncIterator[redis.asyncio.Redis]:
    """An async client of the same server."""
    client = backend.async_client()
    yield client
    await client.aclose()


@pytest.fixture
def redis_url(redis_client: redis.Redis, backend: Backend) -> str:
    """The real server's URL, emptied; skips on fakeredis, which no other process can reach."""
    url: str | None = getattr(backend, "url", None)
    if url is None:
        pytest.skip("needs a real server")
    return url


@pytest.fixture
def aof_server() -> Iterator[PrivateServer]:
    """A server of this test's own that keeps what it holds through ``stop()`` and ``start()``."""
    server = PrivateServer(aof=True)
    server.start()
    yield server
    server.close()


@pytest.fixture
def make_server() -> Iterator[Callable[..., PrivateServer]]:
    """Makes further servers of this test's own, such as one that runs out of memory."""
    made: list[PrivateServer] = []

    def make(*, aof: bool = False) -> PrivateServer:
        server = PrivateServer(aof=aof)
        made.append(server)
        server.start()
        return server

    yield make
    for server in made:
        server.close()


@pytest.fixture
def config() -> Config:
    """Settings for tests; a test that needs others builds them with ``make_config``."""
    return make_config()


@pytest.fixture
def submission() -> Callable[..., Submission]:
    """Makes a valid submission: ``submission(queue="mail", priority=9)``."""

    def make(**overrides: Any) -> Submission:
        return make_submission(**overrides)

    return make


@pytest.fixture
def commands(redis_client: redis.Redis, config: Config) -> Commands:
    from tasks_app.store.commands import Commands

    return Commands(redis_client, config)


@pytest.fixture
def queries(redis_client: redis.Redis, config: Config) -> Queries:
    from tasks_app.store.queries import Queries

    return Queries(redis_client, config)


@pytest.fixture
def presence(redis_client: redis.Redis, config: Config) -> Presence:
    from tasks_app.store.presence import Presence

    return Presence(redis_client, config)


@pytest.fixture
def leases(redis_async: redis.asyncio.Redis, config: Config) -> Leases:
    from tasks_app.store.leases import Leases

    return Leases(redis_async, config)


@pytest.fixture
def schedule(redis_async: redis.asyncio.Redis, config: Config) -> Schedule:
    from tasks_app.store.schedule import Schedule

    return Schedule(redis_async, config)
