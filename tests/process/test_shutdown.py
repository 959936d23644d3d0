"""Workers that are told to stop: short tasks finish, long ones go to somebody else at once, nothing runs twice."""

from __future__ import annotations

import signal
import time

import pytest

from tasks_app.domain.status import TaskStatus
from tests.process.fleet import LEASE_S, Fleet
from tests.support.until import until


def test_drain_finishes_short_tasks_and_gives_long_ones_back(fleet: Fleet) -> None:
    worker = fleet.worker(concurrency=4, DRAIN_TIMEOUT_S="3")
    long = fleet.submit_many(1, "ledger", '{"seconds": 60}') + fleet.submit_many(1, "ledger_sync", '{"seconds": 60}')
    short = fleet.submit_many(2, "ledger", '{"held": true}')
    until(lambda: all(fleet.ran(task_id) for task_id in long + short), what="four started")
    waiting = fleet.submit_many(100, "ledger")
    asked = time.monotonic()
    worker.send(signal.SIGTERM)
    until(lambda: "WORKER_DRAINING" in worker.text, what="draining")
    for task_id in short:
        fleet.release(task_id)
    assert worker.wait() == 0
    took = time.monotonic() - asked
    assert 2.5 < took < 30
    assert fleet.all_in(short, TaskStatus.SUCCEEDED)
    assert fleet.all_in(waiting, TaskStatus.QUEUED)
    assert not any(fleet.ran(task_id) for task_id in waiting)
    assert not fleet.queries.workers()
    second = fleet.worker(concurrency=4)
    until(lambda: all(fleet.ran(task_id) == 2 for task_id in long), what="long ones run again")
    fleet.wait_for(waiting, TaskStatus.SUCCEEDED)
    assert [fleet.ran(task_id) for task_id in short] == [1, 1]
    for task_id in long:
        task = fleet.task(task_id)
        assert (task.attempt, task.give_backs) == (1, 1)
        assert task.worker_id == fleet.worker_id(second)


def test_given_back_tasks_start_elsewhere_within_a_second_or_so(fleet: Fleet) -> None:
    """Long before their leases run out, and at the attempt they had."""
    first = fleet.worker(concurrency=2, DRAIN_TIMEOUT_S="0", VISIBILITY_TIMEOUT_S="60")
    task_id = fleet.submit("ledger", '{"seconds": 60}', max_attempts=1)
    until(lambda: fleet.ran(task_id) == 1, what="it runs")
    fleet.worker(concurrency=2, VISIBILITY_TIMEOUT_S="60")
    first.send(signal.SIGTERM)
    until(lambda: fleet.ran(task_id) == 2, what="it runs again")
    assert (fleet.task(task_id).attempt, fleet.task(task_id).give_backs) == (1, 1)
    assert first.wait() == 0


def test_a_second_signal_stops_at_once(fleet: Fleet) -> None:
    worker = fleet.worker(concurrency=2, DRAIN_TIMEOUT_S="60")
    ids = [fleet.submit("ledger", '{"seconds": 60}'), fleet.submit("ledger_sync", '{"seconds": 60}')]
    until(lambda: all(fleet.ran(task_id) for task_id in ids), what="both run")
    worker.send(signal.SIGTERM)
    until(lambda: "WORKER_DRAINING" in worker.text, what="draining")
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    assert "TASKS_GIVEN_BACK" in worker.text
    fleet.worker(concurrency=2)
    until(lambda: all(fleet.ran(task_id) == 2 for task_id in ids), what="both run again")


@pytest.mark.parametrize(("drain_s", "signals"), [(1, [signal.SIGTERM]), (60, [signal.SIGTERM, signal.SIGINT])])
def test_a_coroutine_that_blocks_the_loop_does_not_keep_its_worker(
    fleet: Fleet, drain_s: int, signals: list[signal.Signals]
) -> None:
    """Even a loop that does not turn holds neither the drain's deadline nor the second signal up."""
    worker = fleet.worker(concurrency=2, DRAIN_TIMEOUT_S=str(drain_s))
    task_id = fleet.submit("block_loop", '{"seconds": 60}', max_attempts=2)
    until(lambda: fleet.ran(task_id) == 1, what="it runs")
    for number in signals:
        worker.send(number)
    assert worker.wait(timeout=20) == 0
    assert "STOPPED_BY_FORCE" in worker.text
    fleet.worker(concurrency=2)
    until(lambda: fleet.ran(task_id) == 2, timeout=LEASE_S + 10, what="it runs again")


def test_a_fleet_hands_both_signals_on(fleet: Fleet) -> None:
    parent = fleet.start("runworker", "--processes", "2", "--concurrency", "1", DRAIN_TIMEOUT_S="60")
    ids = fleet.submit_many(2, "ledger", '{"seconds": 60}')
    until(lambda: all(fleet.ran(task_id) for task_id in ids), timeout=30, what="both run")
    parent.send(signal.SIGINT)
    until(lambda: parent.text.count("WORKER_DRAINING") == 2, what="both drain")
    parent.send(signal.SIGINT)
    assert parent.wait() == 0
    assert parent.text.count("TASKS_GIVEN_BACK") == 2


def test_a_drain_that_is_frozen_past_its_end_thaws_into_good_order(fleet: Fleet) -> None:
    """The time stood still for the loop and for who watches it alike, so nobody takes the loop for blocked."""
    worker = fleet.worker(concurrency=1, DRAIN_TIMEOUT_S="1")
    worker_id = fleet.worker_id(worker)
    task_id = fleet.submit("ledger", '{"seconds": 60}')
    until(lambda: fleet.ran(task_id) == 1, what="it runs")
    worker.send(signal.SIGTERM)
    until(lambda: "WORKER_DRAINING" in worker.text, what="draining")
    worker.send(signal.SIGSTOP)
    until(lambda: not fleet.client.exists(f"dtq:worker:{worker_id}"), timeout=20, what="the end of its record")
    worker.send(signal.SIGCONT)
    assert worker.wait() == 0
    assert "WORKER_STOPPED" in worker.text
    assert "STOPPED_BY_FORCE" not in worker.text
