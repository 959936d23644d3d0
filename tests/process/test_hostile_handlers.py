"""Handlers that do what no handler should: the worker stays up, keeps its leases, and says who it was."""

from __future__ import annotations

import pytest

from tasks_app.domain.status import TaskStatus
from tests.process.fleet import LEASE_S, Fleet
from tests.support.until import until


@pytest.mark.parametrize("what", ["SystemExit", "KeyboardInterrupt", "CancelledError"])
def test_raising_what_ends_programs_only_fails_the_task(fleet: Fleet, what: str) -> None:
    worker = fleet.worker()
    bad = fleet.submit("raise_it", f'{{"what": "{what}"}}')
    good = fleet.submit_many(5, "ledger")
    fleet.wait_for([bad], TaskStatus.DEAD_LETTERED)
    fleet.wait_for(good, TaskStatus.SUCCEEDED)
    task = fleet.task(bad)
    assert task.error_class == what
    assert "nobody had asked it to stop" in (task.error_message or "")
    assert worker.alive


@pytest.mark.parametrize("task_type", ["block_loop", "hold_interpreter"])
def test_a_handler_that_blocks_everything_keeps_its_lease_and_runs_once(fleet: Fleet, task_type: str) -> None:
    """C code that holds the interpreter's lock stops every thread of its process, the lease keeper included."""
    first = fleet.worker(concurrency=1, LOG_LEVEL="DEBUG")
    until(lambda: "LEASE_GUARD_READY" in first.text, what="the guard is there")
    task_id = fleet.submit(task_type, f'{{"seconds": {3 * LEASE_S}}}')
    until(lambda: fleet.ran(task_id) == 1, what="it runs")
    second = fleet.worker(concurrency=5)
    seen: set[tuple[int, str]] = set()

    def finished() -> bool:
        seen.update((worker.pid, worker.state) for worker in fleet.queries.workers())
        return fleet.status(task_id) is TaskStatus.SUCCEEDED

    until(finished, timeout=12 * LEASE_S, what="it has ended")
    assert fleet.ran(task_id) == fleet.ran(task_id, "end") == 1
    assert fleet.task(task_id).attempt == 1
    assert fleet.shows(first) and fleet.shows(second)
    assert "gone" not in {state for _, state in seen}
    warning = {"block_loop": "LOOP_BLOCKED", "hold_interpreter": "INTERPRETER_BLOCKED"}[task_type]
    until(lambda: warning in first.text, what="the warning")
    line = next(line for line in first.text.splitlines() if warning in line)
    assert f"{task_type} {task_id}" in line
    assert "seconds=" in line


def test_work_that_outlives_the_lease_or_waits_runs_once(fleet: Fleet) -> None:
    for _ in range(3):
        fleet.worker(concurrency=1)
    long = fleet.submit("ledger", f'{{"seconds": {2.5 * LEASE_S}}}')
    until(lambda: fleet.ran(long) == 1, what="it runs")
    short = fleet.submit_many(12, "ledger", f'{{"seconds": {LEASE_S / 4}}}')
    fleet.wait_for([long, *short], TaskStatus.SUCCEEDED, timeout=40)
    for task_id in [long, *short]:
        assert fleet.ran(task_id) == 1
        assert [attempt.number for attempt in fleet.queries.detail(task_id).attempts] == [1]
