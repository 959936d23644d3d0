"""The demo handlers do what their names say."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
from typing import Any

import pytest
import redis

from tasks_app.domain import strict_json
from tasks_app.domain.errors import MalformedJson
from tasks_app.handlers import PermanentError, Registry, RetryableError, TaskContext
from tasks_app.handlers.builtin import COUNTER_TTL_S, redis_counter, register_demo_tasks
from tasks_app.handlers.errors import TaskCancelled
from tasks_app.store.keys import Keys


@pytest.fixture
def registry() -> Registry:
    made = Registry()
    register_demo_tasks(made, lambda name: len(name))
    return made


def run(registry: Registry, name: str, payload: dict[str, Any], ctx: TaskContext | None = None) -> Any:
    handler = registry.get(name)
    assert handler is not None
    result = handler.function(payload, ctx or TaskContext())
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def test_every_demo_handler_is_there(registry: Registry) -> None:
    sync = ["count", "crash", "noop_sync", "primes", "sleep_sync"]
    coroutines = ["echo", "fail", "flaky", "noop", "report", "sleep", "unserialisable"]
    assert registry.names() == sorted(sync + coroutines)
    for name in registry.names():
        handler = registry.get(name)
        assert handler is not None
        assert handler.is_async is (name in coroutines)


@pytest.mark.parametrize(
    ("name", "payload", "result"),
    [
        ("noop", {}, None),
        ("noop_sync", {}, None),
        ("echo", {"a": [1, {}]}, {"a": [1, {}]}),
        ("sleep", {"seconds": 0}, {"slept": 0.0}),
        ("sleep_sync", {"seconds": 0.01}, {"slept": 0.01}),
        ("flaky", {"fail_times": 0}, {"attempts": 1}),
        ("count", {"counter": "four"}, 4),
        ("report", {"steps": 3, "seconds": 0}, {"steps": 3}),
        ("primes", {"limit": 0}, {"limit": 0, "primes": 0}),
        ("primes", {"limit": 100}, {"limit": 100, "primes": 25}),
        ("primes", {"limit": 2000}, {"limit": 2000, "primes": 303}),
    ],
)
def test_results(registry: Registry, name: str, payload: dict[str, Any], result: Any) -> None:
    assert run(registry, name, payload) == result


def test_flaky_fails_as_often_as_it_is_told(registry: Registry) -> None:
    for attempt in (1, 2):
        with pytest.raises(RetryableError):
            run(registry, "flaky", {"fail_times": 2}, TaskContext(attempt=attempt))
    assert run(registry, "flaky", {"fail_times": 2}, TaskContext(attempt=3)) == {"attempts": 3}


def test_fail_is_permanent_unless_told_otherwise(registry: Registry) -> None:
    with pytest.raises(PermanentError, match="so it goes"):
        run(registry, "fail", {"message": "so it goes"})
    with pytest.raises(RetryableError):
        run(registry, "fail", {"retryable": True})


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("sleep", {"seconds": -1}),
        ("sleep", {"seconds": "1"}),
        ("sleep", {"seconds": True}),
        ("primes", {"limit": 10**9}),
        ("report", {"steps": 0}),
        ("count", {"counter": "a:b"}),
        ("count", {"counter": 7}),
    ],
)
def test_bad_payloads_fail_for_good(registry: Registry, name: str, payload: dict[str, Any]) -> None:
    with pytest.raises(PermanentError):
        run(registry, name, payload)


def test_unserialisable_is_just_that(registry: Registry) -> None:
    with pytest.raises(MalformedJson):
        strict_json.dumps(run(registry, "unserialisable", {}))


@pytest.mark.parametrize(("name", "payload"), [("sleep_sync", {"seconds": 60}), ("primes", {"limit": 5_000_000})])
def test_threads_stop_when_cancelled(registry: Registry, name: str, payload: dict[str, Any]) -> None:
    ctx = TaskContext()
    ctx.mark_cancelled()
    with pytest.raises(TaskCancelled):
        run(registry, name, payload, ctx)


def test_crash_kills_this_very_process(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append((pid, number)))
    run(registry, "crash", {})
    assert killed == [(os.getpid(), signal.SIGKILL)]


def test_report_tells_about_each_step(registry: Registry) -> None:
    told: list[tuple[Any, ...]] = []

    def sink(task_id: str, attempt: int, *, progress: Any, note: Any, line: Any) -> None:
        told.append((progress, note, line))

    run(registry, "report", {"steps": 2, "seconds": 0}, TaskContext(sink=sink))
    assert told == [
        (0.5, "step 1 of 2", None),
        (None, None, "step 1 done"),
        (1.0, "step 2 of 2", None),
        (None, None, "step 2 done"),
    ]


def test_the_counter_lives_a_day_in_redis(redis_client: redis.Redis) -> None:
    count = redis_counter(redis_client, Keys("dtq"))
    assert [count("x"), count("x"), count("y")] == [1, 2, 1]
    assert redis_client.get("dtq:demo:counter:x") == b"2"
    assert COUNTER_TTL_S - 10 <= redis_client.ttl("dtq:demo:counter:x") <= COUNTER_TTL_S
