"""Urgent work beside a long queue."""

from __future__ import annotations

from tasks_app.domain.status import TaskStatus
from tests.process.fleet import Fleet
from tests.support.until import until


def test_an_urgent_task_starts_next_before_everything_that_waits(fleet: Fleet) -> None:
    fleet.worker(concurrency=1)
    low = fleet.submit_many(100, "ledger", '{"seconds": 0.05}', priority=0)
    until(lambda: fleet.ran(low[0]) == 1, what="they are under way")
    urgent = fleet.submit("ledger", priority=9)
    fleet.wait_for([urgent], TaskStatus.SUCCEEDED)
    task = fleet.task(urgent)
    assert task.started_at is not None
    started = [at for task_id in low if (at := fleet.task(task_id).started_at) is not None]
    # The one that ran when it came, and the one whose claim had been answered already.
    assert sum(task.created_at < at < task.started_at for at in started) <= 2


def test_the_oldest_wait_shows_what_steady_urgent_work_holds_up(fleet: Fleet) -> None:
    """Priorities are strict (docs/operations.md), so who starves has to be seen."""
    first_low = fleet.submit_many(20, "ledger", priority=1)[0]
    fleet.submit_many(200, "ledger", '{"seconds": 0.05}', priority=8)
    fleet.worker(concurrency=1)
    until(lambda: fleet.queries.counts()[TaskStatus.SUCCEEDED] >= 10, what="urgent ones run")
    fleet.submit_many(20, "ledger", '{"seconds": 0.05}', priority=8)
    assert fleet.status(first_low) is TaskStatus.QUEUED
    oldest_at, low = fleet.queries.queue("default").oldest_at, fleet.task(first_low)
    assert oldest_at is not None and low.enqueued_at is not None and abs(oldest_at - low.enqueued_at) < 100
    assert fleet.queries.queue("default").bands[1] == 20
