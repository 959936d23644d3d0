"""Where the master is, and that connections leave a server which is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis
from redis.exceptions import ConnectionError

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.store.connections import connect, connect_async, translating
from tasks_app.store.routes import ClusterRoute, Route, SentinelRoute
from tests.support.link import Link
from tests.support.node import Node
from tests.support.server import PrivateServer

pytestmark = pytest.mark.real_redis
NOBODY = ("127.0.0.1", 1)
SLOT_OF_DTQ = 11_648


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    made = Node()
    yield made
    made.close()


def sentinel(*nodes: tuple[str, int]) -> SentinelRoute:
    return SentinelRoute(nodes, "main", {}, tls=False)


def cluster(*nodes: tuple[str, int]) -> ClusterRoute:
    return ClusterRoute(nodes, "{dtq}", {}, tls=False)


def state(flags: str) -> list[bytes]:
    return [b"name", b"main", b"ip", b"10.0.0.7", b"port", b"7000", b"flags", flags.encode()]


async def test_one_server_is_where_the_address_says() -> None:
    assert Route().locate() is None
    assert await Route().locate_async() is None


@pytest.mark.parametrize("flags", ["master,s_down", "s_down,o_down,master", "master,disconnected"])
def test_a_master_that_is_down_is_none(flags: str) -> None:
    assert sentinel()._read(state(flags), "h") is None
    assert sentinel()._read(state("master"), "h") == ("10.0.0.7", 7000)


async def test_a_server_that_is_no_sentinel_knows_no_master(node: Node) -> None:
    route = sentinel(NOBODY, ("127.0.0.1", node.port))
    with pytest.raises(ConnectionError, match="no sentinel knows"):
        route.locate()
    with pytest.raises(ConnectionError, match="no sentinel knows"):
        await route.locate_async()
    client = connect(f"redis+sentinel://127.0.0.1:1,{node.address}/main")
    told = "Redis cannot be found: no sentinel knows a master that is up"
    with pytest.raises(StoreUnavailable, match=told), translating():
        client.ping()
    client.close()


async def test_a_server_that_is_no_cluster_owns_every_slot(node: Node) -> None:
    there = ("127.0.0.1", node.port)
    route = cluster(NOBODY, there)
    assert await route.locate_async() == there
    assert route.locate() == there
    with pytest.raises(ConnectionError, match="no node of the cluster"):
        cluster(NOBODY).locate()


def test_the_owner_of_the_slot_is_found_and_all_nodes_are_remembered() -> None:
    route = cluster(("seed", 1))
    reply = [
        [0, 8191, [b"10.0.0.1", 7001, b"id"], [b"10.0.0.4", 7004, b"id"]],
        [8192, 16_383, [b"", 7002, b"id"], [None, 7005, b"id"]],
    ]
    assert route._read(reply, "asked") == ("asked", 7002)
    assert list(route._nodes) == [
        *(("seed", 1), ("10.0.0.1", 7001), ("10.0.0.4", 7004)),
        *(("asked", 7002), ("asked", 7005)),
    ]
    assert route._read([reply[0]], "asked") is None
    assert route._slot == SLOT_OF_DTQ


def test_whoever_named_a_wrong_server_is_asked_last() -> None:
    route = sentinel(("a", 1), ("b", 2), ("c", 3))
    route.distrust(route.epoch)
    route.distrust(route.epoch - 1)  # a connection of before: this is known
    assert (list(route._nodes), route.epoch) == ([("b", 2), ("c", 3), ("a", 1)], 1)


def idle_connections(client: redis.Redis, many: int) -> None:
    """Have the pool hold so many open connections."""
    pool = client.connection_pool
    held = [pool.get_connection() for _ in range(many)]
    for connection in held:
        pool.release(connection)


def test_one_refusal_of_a_replica_retires_every_connection(make_server: Callable[..., PrivateServer]) -> None:
    server = make_server()
    client, operator = connect(server.url), redis.Redis.from_url(server.url)
    idle_connections(client, 4)
    before = {row["id"] for row in operator.client_list()}
    operator.replicaof("127.0.0.1", "1")
    with pytest.raises(StoreUnavailable, match="read-only replica"), translating():
        client.set("x", 1)
    operator.replicaof("NO", "ONE")
    idle_connections(client, 4)
    ours = operator.client_id()
    assert not {row["id"] for row in operator.client_list()} & (before - {str(ours)})
    client.close()
    operator.close()


async def test_a_refusal_retires_connections_of_asyncio_as_well(make_server: Callable[..., PrivateServer]) -> None:
    server = make_server()
    client, operator = connect_async(server.url), redis.Redis.from_url(server.url)
    other = await client.connection_pool.get_connection()
    await client.ping()
    await client.connection_pool.release(other)
    operator.replicaof("127.0.0.1", "1")
    for _ in range(2):  # the idle one may be the one that is used
        with pytest.raises(StoreUnavailable, match="read-only replica"), translating():
            await client.set("x", 1)
    assert not other.is_connected or other._epoch == other._route.epoch
    operator.replicaof("NO", "ONE")
    await client.set("x", 1)
    await client.aclose()
    operator.close()


async def test_what_a_replica_has_refused_goes_to_the_master_once(node: Node) -> None:
    old = Node()
    link = Link(("127.0.0.1", old.port))
    client, aio = connect(link.url), connect_async(link.url)
    client.ping()
    await aio.ping()
    link.lead_to(("127.0.0.1", node.port))
    old.ask("REPLICAOF", "127.0.0.1", node.port)
    assert (client.incr("moved"), await aio.incr("moved")) == (1, 2)
    assert node.ask("GET", "moved") == b"2"
    client.close()
    await aio.aclose()
    link.close()
    old.close()


async def test_a_password_that_is_missing_is_told_over_a_socket_as_well(
    make_server: Callable[..., PrivateServer],
) -> None:
    server = make_server()
    operator = redis.Redis.from_url(server.url)
    operator.config_set("requirepass", "s3cr3t")
    url = server.url.replace("unix://", "unix://:wrong@")
    client, aio = connect(url), connect_async(url)
    told = "wants another user name or password"
    with pytest.raises(StoreUnavailable, match=told), translating():
        client.ping()
    with pytest.raises(StoreUnavailable, match=told), translating():
        await aio.ping()
    client.close()
    await aio.aclose()
    operator.config_set("requirepass", "")
    operator.close()


async def test_what_a_server_refuses_while_connecting_is_told(redis_url: str) -> None:
    client, aio = connect(f"{redis_url}?db=99"), connect_async(f"{redis_url}?db=99")
    told = "refuses the connection: DB index is out of range"
    with pytest.raises(StoreUnavailable, match=told), translating():
        client.ping()
    with pytest.raises(StoreUnavailable, match=told), translating():
        await aio.ping()
    client.close()
    await aio.aclose()
