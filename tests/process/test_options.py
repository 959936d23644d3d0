"""The command line of ``runworker``."""

from __future__ import annotations

import pytest

from tasks_app.domain.status import TaskStatus
from tests.process.fleet import Fleet
from tests.support.until import until


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--queues", "Bad Name"], "'Bad Name' is no queue name"),
        (["--queues", ""], "'' is no queue name"),
        (["--concurrency", "0"], "--concurrency must be 1..10000"),
        (["--processes", "0"], "--processes must be 1..256"),
    ],
)
def test_nonsense_is_refused(fleet: Fleet, arguments: list[str], complaint: str) -> None:
    process = fleet.start("runworker", *arguments)
    assert process.wait() != 0
    assert complaint in process.text
    assert "Traceback" not in process.text


def test_a_worker_without_handlers_says_once_what_that_means(fleet: Fleet) -> None:
    process = fleet.start("runworker", "--processes", "2", TASK_MODULES="", DEMO_TASKS="false")
    until(lambda: process.text.count("WORKER_STARTED") == 2, timeout=30, what="both of them")
    assert process.text.count("DTQ_TASK_MODULES") == 1


def test_queues_are_served_in_the_order_given(fleet: Fleet) -> None:
    last = fleet.submit_many(3, "ledger", queue="low", priority=9)
    first = fleet.submit_many(3, "ledger", queue="high", priority=0)
    other = fleet.submit("ledger", queue="other")
    process = fleet.worker("--queues", "high,low", concurrency=1)
    fleet.wait_for(last + first, TaskStatus.SUCCEEDED)
    started = sorted(last + first, key=lambda task_id: (fleet.task(task_id).started_at or 0, task_id in last))
    assert set(started[:3]) == set(first)
    assert fleet.status(other) is TaskStatus.QUEUED
    until(lambda: {worker.state for worker in fleet.queries.workers()} == {"ready"}, what="it has room again")
    [shown] = fleet.queries.workers()
    assert (shown.pid, shown.queues, shown.concurrency) == (process.pid, ("high", "low"), 1)


def test_a_worker_without_scheduler_leaves_the_lead_alone(fleet: Fleet) -> None:
    fleet.worker("--no-scheduler")
    fleet.wait_for([fleet.submit("ledger")], TaskStatus.SUCCEEDED)
    assert fleet.queries.leader() is None


def test_a_busy_worker_says_so(fleet: Fleet) -> None:
    fleet.worker(concurrency=1)
    task_id = fleet.submit("ledger", '{"seconds": 60}')
    until(lambda: fleet.queries.workers()[0].state == "busy", what="busy")
    shown = fleet.queries.workers()[0]
    assert (shown.occupied, shown.running) == (1, (task_id,))
