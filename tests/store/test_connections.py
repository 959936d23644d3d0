"""What the client library raises, and what it means to callers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import pytest
import redis
from redis.exceptions import (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
)

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.store import leases
from tasks_app.store.connections import connect, connect_async, translating
from tasks_app.store.leases import ClaimReply, Leases
from tasks_app.store.queries import Queries
from tasks_app.store.scripts import AsyncScripts
from tests.support.builders import make_config
from tests.support.server import PrivateServer


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (redis.ConnectionError("refused"), "cannot be reached"),
        (redis.TimeoutError("slow"), "cannot be reached"),
        (ClusterDownError("down"), "cannot be reached"),
        (AuthenticationError("who"), "another user name or password"),
        (BusyLoadingError("loading"), "is loading its data"),
        (ReadOnlyError("replica"), "is a read-only replica"),
        (OutOfMemoryError("full"), "is out of memory"),
        (ResponseError("OOM command not allowed"), "is out of memory"),
        (ResponseError("MISCONF Redis is configured to save"), "cannot write to its disk"),
        (ResponseError("READONLY You can't write"), "is a read-only replica"),
        (AskError("13 10.0.0.1:7000"), "has moved the keys"),
        (NoPermissionError("no permissions"), "does not allow its user"),
        (ResponseError("UNBLOCKED force unblock"), "has just become a replica"),
        (ResponseError("TRYAGAIN Multiple keys request"), "is moving the keys"),
        (ResponseError("MASTERDOWN Link with MASTER is down"), "without its primary"),
        (ResponseError("NOREPLICAS Not enough good replicas"), "lacks the replicas"),
        (ResponseError("BUSY Redis is busy running a script"), "is busy with a script"),
        (ResponseError("LOADING Redis is loading"), "is loading its data"),
        (ResponseError("WRONGTYPE Operation against a key"), "another kind of value"),
        (ResponseError("Command # 1 (GET a) of pipeline caused error: WRONGTYPE Operation"), "another kind of value"),
        (ResponseError("Error running script: -OOM command not allowed"), "is out of memory"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value,
)
def test_a_server_that_cannot_serve(error: Exception, reason: str) -> None:
    with pytest.raises(StoreUnavailable, match=reason) as told, translating():
        raise error
    assert told.value.__cause__ is error


@pytest.mark.parametrize("error", [ResponseError("ERR syntax error"), ResponseError("BUSYGROUP"), ValueError("x")])
def test_a_fault_of_our_own_stays_what_it_is(error: Exception) -> None:
    with pytest.raises(type(error)) as told, translating():
        raise error
    assert told.value is error


def test_no_message_shows_where_the_server_is() -> None:
    client = connect("redis://user:s3cr3t@127.0.0.1:1/0", timeout_s=0.2)
    with pytest.raises(StoreUnavailable) as told, translating():
        client.ping()
    assert "s3cr3t" not in str(told.value) and told.value.details == {}
    client.close()


@pytest.mark.real_redis
async def test_waiting_longer_than_a_connection_does_is_no_error(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_LATE_S", 3.0)  # where a processor is taken away, all is late
    client = connect_async(redis_url, timeout_s=3.3)
    assert await Leases(client, make_config()).claim_at_bell("w", ("mail",), 1, 60) == (False, ClaimReply())
    await client.aclose()


@pytest.mark.parametrize(("timeout_s", "longest_s"), [(0.05, 0.01), (0.3, 0.1), (1, 0.8), (5, 4.8)])
async def test_a_wait_may_end_a_fifth_of_a_second_late(
    monkeypatch: pytest.MonkeyPatch, timeout_s: float, longest_s: float
) -> None:
    waits: list[Any] = []

    async def run_behind(self: AsyncScripts, command: Sequence[Any], *args: Any) -> NoReturn:
        waits.append(command[-1])
        raise StoreUnavailable("enough")

    monkeypatch.setattr(AsyncScripts, "run_behind", run_behind)
    client = connect_async("redis://nowhere", timeout_s=timeout_s)
    with pytest.raises(StoreUnavailable):
        await Leases(client, make_config()).claim_at_bell("w", ("mail",), 1, 60)
    assert waits == [pytest.approx(longest_s)]


@pytest.mark.real_redis
def test_a_command_is_not_sent_twice(redis_url: str, redis_client: redis.Redis) -> None:
    client = connect(redis_url, timeout_s=0.5)
    client.ping()
    redis_client.config_resetstat()
    redis_client.client_pause(60_000, all=False)
    try:
        with pytest.raises(StoreUnavailable), translating():
            client.incr("dtq:demo:counter:x", 1)
    finally:
        redis_client.client_unpause()
    calls = redis_client.info("commandstats").get("cmdstat_incrby", {"calls": 0})["calls"]
    assert calls <= 1
    client.close()
    redis_client.delete("dtq:demo:counter:x")


@pytest.mark.real_redis
async def test_async_errors_are_translated_too(redis_url: str) -> None:
    client = connect_async("redis://127.0.0.1:1/0", timeout_s=0.2)
    with pytest.raises(StoreUnavailable):
        await asyncio.wait_for(Leases(client, make_config()).claim("w1", (), 1), 5)
    await client.aclose()


@pytest.mark.real_redis
def test_a_user_who_may_not_read_the_configuration_sees_the_server_all_the_same(
    make_server: Callable[..., PrivateServer],
) -> None:
    server = make_server()
    with redis.Redis.from_url(server.url) as operator:
        operator.execute_command("ACL", "SETUSER", "dtq", "on", ">pw", "~dtq:*", "&dtq:*", "+@all", "-config")
    client = connect(server.url.replace("unix://", "unix://dtq:pw@"))
    assert Queries(client, make_config()).server().snapshots is None
    client.close()
