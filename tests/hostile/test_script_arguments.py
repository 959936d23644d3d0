"""Scripts called with arguments that no caller of ours would send: one that stops with an error has written nothing.

A server does not roll a script back, so whatever can be wrong has to show before the first write.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.domain.status import TaskStatus
from tasks_app.store.commands import Commands
from tasks_app.store.keys import Keys
from tasks_app.store.leases import Leases
from tasks_app.store.presence import Heartbeat, Presence
from tasks_app.store.schedule import Schedule
from tasks_app.store.scripts import Scripts, digests
from tests.support.backend import Backend
from tests.support.builders import make_config
from tests.support.keyspace import RawClient
from tests.support.stage import LEADER, TOKEN, WORKER, Stage

AUDIT = ("actor", "192.0.2.1", "request")
ALONE = ("", "", "", 0)
CONFIG = make_config()
KEYS = Keys(CONFIG.key_prefix)
NASTY: list[str | bytes] = [
    *(
        "",
        " ",
        "0",
        "-1",
        "1",
        "2",
        "5.5",
        "1e3",
        "1e999",
        "nan",
        "-inf",
        "0x10",
        "9" * 20,
        "9" * 400,
        "9" * 5000,
        "no number",
    ),
    *("{}", "[", "null", "dtq", "running", "queued", "all", "*", "0-0", "a" * 70_000, "\n", "|", "é"),
    *(b"\x00", b"\xff\xfe", b"\x00" * 300, b"a b\r\nc"),
]


def valid_arguments(ids: dict[TaskStatus, str]) -> dict[str, list[Any]]:
    """A call of each script that does something, over a task in every status."""
    one = [*ids.values()]
    dead, running, pending = ids[TaskStatus.DEAD_LETTERED], ids[TaskStatus.RUNNING], ids[TaskStatus.PENDING]
    submitted = ["ab" * 6, "echo", "default", 5, 3, 1000, "{}", "{}", "+0", "", "", ""]
    return {
        "admit": ["ci", "digest", 1, "0"],
        "audit": [*AUDIT, "lock", "user:op", "said"],
        "begin": [*AUDIT, "8" * 16, "requeue {}", "requeue 1", "action", "requeue"],
        "cancel": [*AUDIT, *ALONE, "cancel", "all", "", *one],
        "claim": [WORKER, 10, 0, "default"],
        "conclude": [*AUDIT, "0" * 32, "finished", "", 0],
        "count": [TOKEN, 1, 1, "default|echo|submitted", 1],
        "discard": [*AUDIT, *ALONE, "", *one],
        "due": [TOKEN, 10],
        "finish": [WORKER, running, 1, "succeeded", "succeeded", 0, "null", "", "", ""],
        "giveback": [WORKER, running, 1],
        "grant": [*AUDIT, "ci", 1000, "said", "digest", "d", "scopes", "read", "queues", ""],
        "heartbeat": [WORKER, 1000, 5, 5, "state", "ready"],
        "lead": [TOKEN, LEADER],
        "note": [WORKER, running, 1, "0.5", "half", 1, "line"],
        "pause": [*AUDIT, "default", "why", 99_999_999_999_999],
        "reclaim": [WORKER, 10, 0],
        "refused": ["QUEUE_FULL", 1],
        "release": [TOKEN, pending],
        "renew": [WORKER, running, 1],
        "requeue": [*AUDIT, *ALONE, dead, 1, 0, '{"a":1}', 1000],
        "resign": [TOKEN],
        "resume": [*AUDIT, "default"],
        "revoke": [*AUDIT, "ci"],
        "rollup": [TOKEN, "t", 5, 60_000, "", "default|echo|submitted", 1],
        "runnow": [*AUDIT, pending],
        "sample": [TOKEN, "default"],
        "submit": submitted * 2,
        "sweep_keys": [TOKEN, 10],
        "sweep_names": [TOKEN, 10],
        "sweep_queues": [TOKEN, "", "default"],
        "sweep_retention": [TOKEN, 10],
        "tell": [*AUDIT, WORKER, "quiet"],
        "unclaim": [TOKEN, 10, 0],
    }


VERBS = sorted(digests(CONFIG))
Edit = Callable[[list[Any]], list[Any]]


def _edits() -> st.SearchStrategy[Edit]:
    place = st.integers(0, 30)
    value = st.one_of(st.sampled_from(NASTY), st.binary(max_size=40))

    def replace(at: int, new: str | bytes) -> Edit:
        return lambda args: [new if i == at % len(args) else arg for i, arg in enumerate(args)] if args else [new]

    def drop(at: int) -> Edit:
        return lambda args: [arg for i, arg in enumerate(args) if i != at % len(args)] if args else []

    return st.one_of(
        st.builds(replace, place, value),
        st.builds(replace, place, value),
        st.builds(drop, place),
        place.map(lambda at: lambda args: args[:at]),
        value.map(lambda new: lambda args: [*args, new]),
        place.map(lambda at: lambda args: args + args[at:]),
    )


class Snapshot(NamedTuple):
    """What the server holds: each key's value as the server writes it down, and when it ends."""

    values: dict[bytes, tuple[bytes, int]]

    @classmethod
    def take(cls, client: RawClient) -> Snapshot:
        keys = sorted(client.keys("*"))
        pipe = client.pipeline(transaction=False)
        for key in keys:
            pipe.dump(key).pexpiretime(key)
        replies = pipe.execute()
        return cls({key: (replies[2 * i], replies[2 * i + 1]) for i, key in enumerate(keys)})

    def restore(self, client: RawClient) -> None:
        pipe = client.pipeline(transaction=False)
        pipe.flushall()
        for key, (value, ends) in self.values.items():
            pipe.restore(key, max(0, ends), value, absttl=True)
        pipe.execute()


@pytest.fixture(scope="module")
def people(backend: Backend) -> tuple[dict[TaskStatus, str], Snapshot]:
    """A task in every status, and all that the server holds of them."""
    ids = asyncio.run(_prepared(backend))
    client = backend.client()
    snapshot = Snapshot.take(client)
    client.close()
    return ids, snapshot


@pytest.mark.real_redis
@pytest.mark.parametrize("verb", VERBS)
@settings(
    max_examples=int(os.environ.get("DTQ_TEST_EXAMPLES", "25")),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(edits=st.lists(_edits(), min_size=1, max_size=3))
def test_a_call_that_fails_has_written_nothing(
    redis_client: redis.Redis, people: tuple[dict[TaskStatus, str], Snapshot], verb: str, edits: list[Edit]
) -> None:
    ids, snapshot = people
    args = valid_arguments(ids)[verb]
    for edit in edits:
        args = edit(args)
    snapshot.restore(redis_client)
    redis_client.set(KEYS.lock, f"{TOKEN} {LEADER}")
    before = Snapshot.take(redis_client)
    try:
        Scripts(redis_client, CONFIG).run(verb, *args)
    except redis.ResponseError as error:
        assert Snapshot.take(redis_client) == before, (verb, args, error)
    except StoreUnavailable:
        assert Snapshot.take(redis_client) == before, (verb, args)


@pytest.mark.real_redis
def test_every_script_has_a_call_that_works(
    redis_client: redis.Redis, people: tuple[dict[TaskStatus, str], Snapshot]
) -> None:
    ids, snapshot = people
    snapshot.restore(redis_client)
    redis_client.set(KEYS.lock, f"{TOKEN} {LEADER}")
    calls = valid_arguments(ids)
    assert set(calls) == set(VERBS)
    for verb in [*(verb for verb in VERBS if verb != "resign"), "resign"]:
        Scripts(redis_client, CONFIG).run(verb, *calls[verb])


async def _prepared(backend: Backend) -> dict[TaskStatus, str]:
    backend.reset()
    client, aio = backend.client(), backend.async_client()
    try:
        stage = Stage(client, CONFIG, Commands(client, CONFIG), Leases(aio, CONFIG), Schedule(aio, CONFIG))
        ids = await stage.one_of_each()
        client.zadd(KEYS.claimed, {ids[TaskStatus.PENDING]: 1})
        Presence(client, CONFIG).heartbeat(Heartbeat(WORKER, "host", 1, "1", 0.0, "ready", 1, 0, (), 0, 0))
        return ids
    finally:
        client.close()
        await aio.aclose()
