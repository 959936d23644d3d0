"""Schedulers: one leads, each due task is queued once, another takes over when the leader is frozen or ends."""

from __future__ import annotations

import signal
import statistics
import time

from tasks_app.domain.status import TaskStatus
from tests.process.fleet import Fleet, Process
from tests.support.until import until


def leader(fleet: Fleet, candidates: list[Process]) -> Process:
    """The process that leads."""

    def found() -> Process | None:
        owner = fleet.queries.leader() or ""
        return next((process for process in candidates if f"-{process.pid}-" in owner), None)

    chosen = until(found, timeout=30, what="a leader")
    assert chosen is not None
    return chosen


def test_a_frozen_leader_is_replaced_and_each_due_task_runs_once(fleet: Fleet) -> None:
    candidates = [fleet.start("runscheduler") for _ in range(3)]
    old = leader(fleet, candidates)
    ids = fleet.submit_many(1000, "ledger", delay_ms=3000) + fleet.submit_many(1000, "ledger", delay_ms=3000)
    until(lambda: fleet.queries.counts().get(TaskStatus.QUEUED, 0) > 0, what="some are due")
    old.send(signal.SIGSTOP)
    frozen_at = time.monotonic()
    others = [process for process in candidates if process is not old]
    new = leader(fleet, others)
    assert time.monotonic() - frozen_at < 10 + 3.5 + 3  # the lock runs out, a follower tries, and some haste is lost
    old.send(signal.SIGCONT)
    fleet.worker("--no-scheduler", concurrency=100)
    # Frozen between claiming and queueing, it leaves a batch of claims behind, which the new leader returns at once.
    until(lambda: fleet.queries.counts().get(TaskStatus.SUCCEEDED, 0) == len(ids), timeout=40, what="they ran")
    assert {fleet.ran(task_id) for task_id in ids} == {1}
    # A follower that ends leaves the leader's lock alone; a leader that ends gives it up at once.
    follower = next(process for process in others if process is not new)
    follower.send(signal.SIGTERM)
    assert follower.wait() == 0
    assert leader(fleet, [new]) is new
    new.send(signal.SIGTERM)
    assert new.wait() == 0
    assert leader(fleet, [old]) is old


def test_delayed_tasks_start_on_time(fleet: Fleet) -> None:
    fleet.worker()
    delays = {fleet.submit("ledger", delay_ms=delay_ms): delay_ms for delay_ms in range(700, 3501, 700)}
    fleet.wait_for(delays, TaskStatus.SUCCEEDED)
    late = []
    for task_id, delay_ms in delays.items():
        task = fleet.task(task_id)
        assert task.started_at is not None
        late.append(task.started_at - task.created_at - delay_ms)
    assert min(late) >= 0
    assert statistics.median(late) < 1000, late  # a machine that stands still for a moment holds up two or three
