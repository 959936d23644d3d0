"""Cancelling what runs: heard at once, also by a full worker, also when the message is lost."""

from __future__ import annotations

import signal
import statistics
import time
from collections.abc import Callable
from functools import partial

import pytest

from tasks_app.domain.errors import CancelRequested
from tasks_app.domain.status import TaskStatus
from tests.process.fleet import ACTOR, Fleet
from tests.support.server import PrivateServer
from tests.support.until import until

CANCELS = 5


def cancel_running(fleet: Fleet, task_id: str) -> None:
    with pytest.raises(CancelRequested):
        fleet.commands.cancel(task_id, ACTOR)


@pytest.mark.parametrize("slots", [1, 10])
def test_a_full_worker_hears_a_cancel_within_a_second(fleet: Fleet, slots: int) -> None:
    fleet.worker(concurrency=slots)
    ids = fleet.submit_many(slots + CANCELS, "ledger", '{"seconds": 60}')
    until(lambda: all(fleet.ran(task_id) for task_id in ids[:slots]), what="full")
    took = []
    for cancelled, behind in zip(ids[:CANCELS], ids[slots:], strict=True):
        asked = time.monotonic()
        cancel_running(fleet, cancelled)
        fleet.wait_for([cancelled], TaskStatus.CANCELLED)
        until(partial(fleet.ran, behind), what="the next one has its slot")
        took.append(time.monotonic() - asked)
        assert fleet.ran(cancelled, "end") == 0
    assert statistics.median(took) < 1.0, took  # a machine that stands still for a moment holds up one of them


def test_a_cancel_arrives_without_the_control_channel(fleet: Fleet) -> None:
    worker = fleet.worker(concurrency=1)
    task_id = fleet.submit("ledger", '{"seconds": 60}')
    until(lambda: fleet.ran(task_id) == 1, what="it runs")
    fleet.client.client_kill_filter(_type="pubsub")
    cancel_running(fleet, task_id)
    until(lambda: fleet.status(task_id) is TaskStatus.CANCELLED, what="cancelled by the renewal's flag")
    channel = f"dtq:control:{fleet.worker_id(worker)}"
    until(lambda: fleet.client.pubsub_numsub(channel)[0][1] == 1, timeout=10, what="subscribed again")


def test_a_thread_runs_on_but_its_task_ends_cancelled(fleet: Fleet) -> None:
    fleet.worker(concurrency=1)
    task_id = fleet.submit("ledger_sync", '{"seconds": 3}')
    until(lambda: fleet.ran(task_id) == 1, what="it runs")
    cancel_running(fleet, task_id)
    fleet.wait_for([task_id], TaskStatus.CANCELLED)
    assert fleet.ran(task_id, "end") == 1
    assert fleet.task(task_id).result_json is None


def test_a_thread_that_looks_stops_early(fleet: Fleet) -> None:
    fleet.worker(concurrency=1)
    task_id = fleet.submit("sleep_sync", '{"seconds": 60}', timeout_ms=60_000)
    fleet.wait_for([task_id], TaskStatus.RUNNING)
    cancel_running(fleet, task_id)
    fleet.wait_for([task_id], TaskStatus.CANCELLED)


def test_a_coroutine_that_swallows_the_cancel_ends_cancelled_and_keeps_its_slot(fleet: Fleet) -> None:
    worker = fleet.worker(concurrency=1)
    task_id = fleet.submit("deaf")
    until(lambda: fleet.ran(task_id) == 1, what="it runs")
    cancel_running(fleet, task_id)
    fleet.wait_for([task_id], TaskStatus.CANCELLED)
    assert fleet.ran(task_id, "end") == 0
    behind = fleet.submit("ledger")
    until(lambda: "1 of 1 slots" in fleet.queries.workers()[0].note, what="the worker says so")
    assert fleet.status(behind) is TaskStatus.QUEUED
    fleet.release(task_id)
    fleet.wait_for([behind], TaskStatus.SUCCEEDED)
    assert fleet.ran(task_id, "end") == 1
    assert "TASK_IGNORES_STOP" in worker.text


def test_timeouts_end_attempts_and_are_retried(fleet: Fleet) -> None:
    fleet.worker(concurrency=4)
    on_loop = fleet.submit("ledger", '{"seconds": 60}', timeout_ms=300, max_attempts=2)
    in_thread = fleet.submit("ledger_sync", '{"held": true}', timeout_ms=300, max_attempts=2)
    fleet.wait_for([on_loop, in_thread], TaskStatus.DEAD_LETTERED)
    for task_id in (on_loop, in_thread):
        detail = fleet.queries.detail(task_id)
        assert [attempt.outcome for attempt in detail.attempts] == ["timed_out", "timed_out"]
        assert (detail.task.attempt, detail.task.error_class) == (2, "TaskTimeout")
    until(lambda: "2 of 4 slots" in fleet.queries.workers()[0].note, what="both threads are still in there")
    fleet.release(in_thread)
    until(lambda: fleet.queries.workers()[0].occupied == 0, what="both have returned")
    assert fleet.ran(in_thread, "end") == 2
    assert fleet.status(in_thread) is TaskStatus.DEAD_LETTERED  # late results change nothing


def test_what_was_cancelled_while_no_worker_was_there_never_runs(
    aof_server: PrivateServer, fleet_on: Callable[[PrivateServer], Fleet]
) -> None:
    """The record says so, no worker's memory: neither a restart of the server nor a new worker forgets it."""
    fleet = fleet_on(aof_server)
    worker = fleet.worker(RETRY_BASE_DELAY="3", RETRY_MAX_DELAY="3", RETRY_JITTER="0")
    retrying = fleet.submit_many(50, "fail", '{"retryable": true}')
    fleet.wait_for(retrying, TaskStatus.RETRYING)
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    ids = retrying + fleet.submit_many(100, "ledger") + fleet.submit_many(100, "ledger", delay_ms=1000)
    fleet.commands.cancel_many(ids[:100], ACTOR)
    for task_id in ids[100:]:
        fleet.commands.cancel(task_id, ACTOR)
    assert fleet.all_in(ids, TaskStatus.CANCELLED)
    aof_server.stop()
    aof_server.start()
    fleet.worker()
    fleet.wait_for([fleet.submit("ledger", delay_ms=3500)], TaskStatus.SUCCEEDED)
    assert fleet.all_in(ids, TaskStatus.CANCELLED)
    assert not any(fleet.ran(task_id) for task_id in ids)
    assert {fleet.task(task_id).attempt for task_id in ids} == {1}
    assert all(fleet.client.pttl(f"dtq:task:{task_id}") > 0 for task_id in ids)
    assert fleet.client.exists("dtq:cancelled") == 0 or fleet.client.pttl("dtq:cancelled") > 0
