"""Handlers that are told to stop: cancelled, timed out, lost, given back."""

from __future__ import annotations

import threading
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from tasks_app.domain.status import TaskStatus
from tests.engine.executor_bench import ExecutorBench
from tests.engine.fakes import claimed
from tests.support.until import until_async
from workers.engine import executor as executor_module
from workers.engine.executor import Surroundings


async def test_cancelling_a_coroutine(stand: ExecutorBench) -> None:
    stand.start(claimed("a", "wait"))
    await stand.started.wait()
    stand.executor.cancel("a")
    stand.executor.cancel("a")
    (finish,) = await stand.outcome()
    assert (finish.status, finish.outcome) == (TaskStatus.CANCELLED, "cancelled")


async def test_cancelling_before_the_first_step(stand: ExecutorBench) -> None:
    stand.start(claimed("a", "wait"))
    stand.executor.cancel("a")
    (finish,) = await stand.outcome()
    assert finish.status is TaskStatus.CANCELLED
    assert stand.slots.occupied == 0
    assert not stand.started.is_set()


async def test_cancelling_a_thread_tells_it_and_waits(stand: ExecutorBench) -> None:
    stand.start(claimed("a", "thread"), claimed("b", "stubborn"))
    stand.executor.cancel("a")
    stand.executor.cancel("b")
    assert stand.slots.occupied == 2
    stand.gate.set()
    done = {finish.task_id: finish for finish in await stand.outcome(2)}
    assert done["a"].status is TaskStatus.CANCELLED
    # It has finished, and only the store can tell which came first: it ends the task cancelled where the flag is set.
    assert done["b"].status is TaskStatus.SUCCEEDED


@pytest.mark.parametrize("why", ["cancel", "timeout"])
async def test_a_coroutine_that_goes_on_is_left_behind(
    stand: ExecutorBench, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    monkeypatch.setattr(executor_module, "STOP_GRACE_S", 0.05)
    timeout_ms = 20 if why == "timeout" else 30_000
    stand.start(claimed("a", "deaf", timeout_ms=timeout_ms))
    await stand.started.wait()
    if why == "cancel":
        stand.executor.cancel("a")
    with capture_logs() as lines:
        (finish,) = await stand.outcome()
    assert finish.outcome == {"cancel": "cancelled", "timeout": "timed_out"}[why]
    assert stand.slots.occupied == 1
    assert "TASK_IGNORES_STOP" in {line["event"] for line in lines}
    stand.enough.set()
    await stand.idle()
    assert stand.told_to_stop == 2
    assert not stand.executor.detached
    assert len(stand.leases.finished) == 1


async def test_a_lost_lease_stops_the_handler_and_drops_what_it_brings(stand: ExecutorBench) -> None:
    stand.start(claimed("a", "wait"), claimed("b", "stubborn"), claimed("c", "wait"))
    await stand.started.wait()
    with capture_logs() as lines:
        stand.executor.lost([("a", 1), ("b", 1), ("c", 7), ("gone", 1)])  # c's loss is another attempt's
    assert [(line["event"], line["tasks"]) for line in lines] == [("TASK_LEASE_LOST", 2)]
    assert set(stand.leased) == {"c"}
    stand.gate.set()
    await until_async(lambda: stand.slots.occupied == 1)
    assert stand.committer.empty


async def test_ended_attempts_are_neither_lost_nor_cancelled(stand: ExecutorBench) -> None:
    stand.start(claimed("a", "echo"))
    await stand.idle()
    stand.executor.lost([("a", 1)])
    stand.executor.cancel("a")
    (finish,) = await stand.outcome()
    assert finish.status is TaskStatus.SUCCEEDED


async def test_taking_up_its_own_lost_task_drops_the_old_attempt(stand: ExecutorBench) -> None:
    stand.start(claimed("a", "wait", attempt=1))
    await stand.started.wait()
    stand.start(claimed("a", "echo", attempt=2))
    (finish,) = await stand.outcome()
    assert finish.attempt == 2
    await stand.idle()
    assert len(stand.leases.finished) == 1


async def test_giving_back_stops_everything_and_commits_nothing(stand: ExecutorBench) -> None:
    stand.start(claimed("a", "wait"), claimed("b", "stubborn"), claimed("c", "echo"))
    await stand.started.wait()
    await until_async(lambda: stand.slots.uncommitted == 1)
    given = stand.executor.give_back_all()
    assert given == [("a", 1), ("b", 1)]
    assert stand.executor.threads_busy == 1
    (finish,) = await stand.outcome()
    assert finish.task_id == "c"
    stand.gate.set()
    await stand.idle()
    assert stand.committer.empty


async def test_surroundings_hold_each_handler() -> None:
    order: list[str] = []

    @contextmanager
    def in_thread():
        order.append(f"enter {threading.current_thread() is not threading.main_thread()}")
        yield
        order.append("exit")

    @asynccontextmanager
    async def on_loop():
        order.append("enter loop")
        yield
        order.append("exit loop")

    bench = ExecutorBench(Surroundings(in_thread, on_loop))
    bench.gate.set()
    bench.start(claimed("a", "thread"))
    await bench.outcome()
    bench.start(claimed("b", "echo"))
    await bench.outcome(2)
    assert order == ["enter True", "exit", "enter loop", "exit loop"]
    bench.executor.close()


async def test_surroundings_that_break_fail_the_attempt() -> None:
    def broken() -> Any:
        raise OSError("no database")

    bench = ExecutorBench(Surroundings(broken, broken))
    bench.start(claimed("a", "thread"), claimed("b", "echo"))
    done = await bench.outcome(2)
    assert {(finish.error_class, finish.outcome) for finish in done} == {("OSError", "failed")}
    bench.executor.close()
