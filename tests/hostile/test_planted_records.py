"""Whatever somebody writes into the queue's keys by hand: no page and no answer is a 500, no step of a worker or of the
scheduler raises what its loop does not expect, and none goes on for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import cycle
from typing import TYPE_CHECKING, Any

import pytest

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.domain.status import TaskStatus
from tasks_app.store.commands import Commands
from tasks_app.store.keys import Keys
from tasks_app.store.leases import Leases
from tasks_app.store.presence import Fetching, Heartbeat, Presence
from tasks_app.store.schedule import Schedule
from tests.hostile.test_script_arguments import Snapshot
from tests.support.builders import ACTOR, make_config
from tests.support.stage import LEADER, OTHER_WORKER, TOKEN, WORKER, Stage

if TYPE_CHECKING:
    from django.test import Client

    from tests.support.backend import Backend
    from tests.support.keyspace import RawClient

CONFIG = make_config()
KEYS = Keys(CONFIG.key_prefix)
PAGES = ("/", "/tasks/", "/dlq/", "/queues/", "/queues/default/", "/workers/", "/audit/", "/system/", "/metrics")
LISTS = ("tasks", "tasks?status=running", "tasks?q=0", "dlq", "dlq/groups", "queues", "queues/default", "audit")
OF_A_TASK = ("/tasks/{}/", "/tasks/{}.json", "/tasks/{}/text/payload", "/api/v1/tasks/{}", "/api/v1/tasks/{}/result")
ACTIONS = ("tasks/{}/cancel", "tasks/{}/run-now", "tasks/{}/requeue", "dlq/{}/discard")
VALUES: list[str | bytes] = [
    *("", "x", "a/b|c", b"\xff\xfe", "-1", "1.5", "1e999", "nan", "9" * 20, "9" * 5000, "{}", "[" * 9000),
]

pytestmark = [pytest.mark.real_redis, pytest.mark.django_db]


@pytest.fixture(scope="module")
def peopled(backend: Backend) -> Snapshot:
    """A queue in which every kind of key exists."""
    asyncio.run(_people(backend))
    client = backend.client()
    snapshot = Snapshot.take(client)
    client.close()
    return snapshot


@pytest.fixture
def planted(backend: Backend, peopled: Snapshot) -> Iterator[RawClient]:
    """A client of the server for whoever plants."""
    client = backend.client()
    peopled.restore(client)
    client.set(KEYS.lock, f"{TOKEN} {LEADER}")
    yield client
    client.close()


@pytest.mark.timeout(240)
@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value[:9]))
def test_a_value_in_every_place_at_once(
    planted: RawClient, backend: Backend, browser: Client, value: str | bytes
) -> None:
    browser.raise_request_exception = False
    ids = _spoil_records(planted, value)
    for key in planted.keys("*"):
        if not key.startswith(KEYS.task("").encode()):
            _add(planted, key, planted.type(key).decode(), value)
    _look(browser, ids[:5])
    _work(backend)
    _look(browser, ids[5:])
    for task_id in ids:
        for action in ACTIONS:
            answer = browser.post(f"/api/v1/{action.format(task_id)}")
            assert answer.status_code != 500, (action, answer.content)


@pytest.mark.timeout(240)
def test_a_key_of_another_kind(planted: RawClient, peopled: Snapshot, backend: Backend, browser: Client) -> None:
    browser.raise_request_exception = False
    kinds = cycle(["string", "hash", "zset"])
    for key in peopled.values:
        peopled.restore(planted)
        there = planted.type(key).decode()
        kind = next(kind for kind in kinds if kind != there)
        planted.delete(key)
        planted.hset(key, "status", "queued") if kind == "hash" else _add(planted, key, kind, "x")
        _work(backend)
        _look(browser, [])


def _spoil_records(client: RawClient, value: str | bytes) -> list[str]:
    """In each task's record another field gets ``value``, until every field has been spoilt; their ids."""
    records = [key for key in sorted(client.keys(KEYS.task("*"))) if client.type(key) == b"hash"]
    fields = sorted({field for key in records for field in client.hkeys(key)})
    ids = []
    for number, field in enumerate(fields):
        key = records[number % len(records)]
        client.hset(key, field, value)
        ids.append(key.decode().rpartition(":")[2])
    return list(dict.fromkeys(ids))


def _add(client: RawClient, key: bytes, kind: str, value: str | bytes) -> None:
    """``value`` wherever a key of ``kind`` can hold it."""
    match kind:
        case "string":
            client.set(key, value, keepttl=True)
        case "hash":
            for field in client.hkeys(key):
                client.hset(key, field, value)
            client.hset(key, value or "empty", value)
        case "list":
            client.lpush(key, value)
        case "set":
            client.sadd(key, value)
        case "zset":
            client.zadd(key, {value: float("inf"), b"low" + _bytes(value): -1e300})
        case "stream":
            client.xadd(key, {"task_id": value, "ts": value, "failed_at": value, "target": b"queue:" + _bytes(value)})
            client.xadd(key, {value or "empty": value})


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _look(browser: Client, ids: Iterable[str]) -> None:
    """At every page and answer there is."""
    paths = [
        *PAGES,
        "/ready",
        "/api/v1/workers",
        *(f"/api/v1/{path}" for path in LISTS),
        *(path.format(i) for i in ids for path in OF_A_TASK),
    ]
    for path in paths:
        answer = browser.get(path)
        assert answer.status_code != 500, (path, answer.content[-2000:])
        if path.startswith("/api/"):
            json.loads(answer.content)


def _work(backend: Backend) -> None:
    """Each step of a worker and of the leader, a few times."""

    async def run() -> None:
        aio = backend.async_client()
        leases, schedule = Leases(aio, CONFIG), Schedule(aio, CONFIG)

        async def requeue() -> None:
            due = await schedule.claim_due(TOKEN, 100)
            await schedule.requeue_claimed(TOKEN, due.ids)

        steps: list[Callable[[], Awaitable[Any]]] = [
            lambda: schedule.lead(LEADER, TOKEN),
            requeue,
            lambda: schedule.sweep(TOKEN),
            lambda: schedule.sample(TOKEN),
            lambda: leases.claim(OTHER_WORKER, (), 10),
            lambda: leases.claim(WORKER, ("default",), 10),
            lambda: leases.reclaim(OTHER_WORKER, (), 10),
        ]
        try:
            for _ in range(3):
                for step in steps:
                    with contextlib.suppress(StoreUnavailable):  # its loop waits, says so once a second, and goes on
                        await asyncio.wait_for(step(), 5)
        finally:
            await aio.aclose()

    asyncio.run(run())


async def _people(backend: Backend) -> None:
    backend.reset()
    client, aio = backend.client(), backend.async_client()
    try:
        commands = Commands(client, CONFIG)
        stage = Stage(client, CONFIG, commands, Leases(aio, CONFIG), Schedule(aio, CONFIG))
        await stage.lead()
        ids = await stage.one_of_each()
        for number in range(12):
            stage.submit(idempotency_key=f"k{number}")
        stage.lapse(ids[TaskStatus.RUNNING])
        client.zadd(KEYS.claimed, {stage.submit(delay_ms=1000): 1})
        commands.pause("default", ACTOR)
        beat = Heartbeat(WORKER, "host", 1, "1", 0.0, "ready", 10, 1, ("default",), 0, 0, fetching=Fetching(1, 1))
        Presence(client, CONFIG).heartbeat(beat)
        await stage.sweep()
    finally:
        client.close()
        await aio.aclose()
