"""Workers that die: nothing they ran is lost, nothing runs for ever."""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from tasks_app.domain.status import TaskStatus
from tests.process.fleet import LEASE_S, Fleet
from tests.support.until import until


def test_tasks_of_a_killed_worker_run_on_another(fleet: Fleet) -> None:
    first = fleet.worker(concurrency=5)
    ids = fleet.submit_many(5, "ledger", '{"seconds": 30}', max_attempts=3)
    fleet.wait_for(ids, TaskStatus.RUNNING)
    second = fleet.worker(concurrency=5)
    until(lambda: all(fleet.ran(task_id) for task_id in ids), what="all five started")
    first.kill()
    until(lambda: all(fleet.ran(task_id) == 2 for task_id in ids), timeout=LEASE_S + 10, what="all five run again")
    successor = fleet.worker_id(second)
    for task_id in ids:
        task = fleet.task(task_id)
        assert (task.status, task.attempt, task.worker_id) == (TaskStatus.RUNNING, 2, successor)
        assert fleet.queries.detail(task_id).attempts[0].outcome == "lost"
    until(lambda: {w.pid for w in fleet.queries.workers() if w.state != "gone"} == {second.pid}, what="one worker left")


def test_a_killed_worker_costs_its_tasks_one_attempt_and_the_others_none(fleet: Fleet) -> None:
    first, second = fleet.worker(concurrency=5), fleet.worker(concurrency=5)
    ids = fleet.submit_many(20, "ledger", '{"held": true}', max_attempts=3)
    until(lambda: sum(fleet.ran(task_id) for task_id in ids) == 10, what="both are full")
    victim = fleet.worker_id(first)
    held = {task_id for task_id in ids if fleet.task(task_id).worker_id == victim}
    assert len(held) == 5
    first.kill()
    for task_id in ids:
        fleet.release(task_id)
    fleet.wait_for(ids, TaskStatus.SUCCEEDED, timeout=30)
    for task_id in ids:
        assert fleet.task(task_id).attempt == fleet.ran(task_id) == (2 if task_id in held else 1)
    assert fleet.queries.counts()[TaskStatus.RUNNING] == 0
    until(lambda: {worker.pid for worker in fleet.queries.workers()} == {second.pid}, timeout=70, what="it has left")


def test_a_worker_killed_at_once_loses_nothing_even_with_no_other_alive(fleet: Fleet) -> None:
    ids = fleet.submit_many(5, "ledger", '{"seconds": 2}', max_attempts=3)
    first = fleet.worker(concurrency=5, ready=False)
    until(lambda: fleet.queries.counts().get(TaskStatus.RUNNING, 0) == 5, timeout=30, what="five running")
    first.kill()
    fleet.worker(concurrency=5)
    fleet.wait_for(ids, TaskStatus.SUCCEEDED, timeout=LEASE_S + 10)
    assert {fleet.task(task_id).attempt for task_id in ids} == {2}


def test_what_an_idle_worker_is_handed_while_it_is_frozen_runs_elsewhere_after_a_lease(fleet: Fleet) -> None:
    first = fleet.worker(concurrency=5)
    fleet.wait_for([fleet.submit("ledger")], TaskStatus.SUCCEEDED)  # it knows the queue's bell
    victim = fleet.worker_id(first)

    def claim_waits(since: str) -> bool:
        return any("b" in one["flags"] and one["idle"] == since for one in fleet.client.client_list())

    until(lambda: claim_waits(since="1"), what="its claim waits")  # for a little more than a second each time
    until(lambda: claim_waits(since="0"), what="its next claim has begun to wait")
    first.send(signal.SIGSTOP)
    ids = fleet.submit_many(3, "ledger", max_attempts=3)
    assert {fleet.task(task_id).worker_id for task_id in ids} == {victim}
    second = fleet.worker(concurrency=5)
    fleet.wait_for(ids, TaskStatus.SUCCEEDED, timeout=LEASE_S + 10)
    first.send(signal.SIGCONT)
    until(lambda: "TASK_LEASE_LOST" in first.text, what="it has found its leases lost")
    successor = fleet.worker_id(second)
    for task_id in ids:
        task = fleet.task(task_id)
        assert (task.status, task.attempt, task.worker_id) == (TaskStatus.SUCCEEDED, 2, successor)


def test_a_task_that_kills_its_worker_is_buried_and_the_others_finish(fleet: Fleet) -> None:
    poison = fleet.submit("crash", max_attempts=3, priority=9)
    parent = fleet.start("runworker", "--concurrency", "2", "--processes", "2")
    good = fleet.submit_many(20, "ledger", max_attempts=5)
    fleet.wait_for([poison], TaskStatus.DEAD_LETTERED, timeout=40)
    fleet.wait_for(good, TaskStatus.SUCCEEDED)
    task = fleet.task(poison)
    assert (task.attempt, task.error_class) == (3, "WorkerLost")
    assert [attempt.outcome for attempt in fleet.queries.detail(poison).attempts] == ["lost"] * 3
    # The last one that died may be replaced after the others have done everything.
    until(lambda: parent.text.count("WORKER_STARTED") >= 2 + 3, timeout=20, what="three that were replaced")
    parent.send(signal.SIGTERM)
    assert parent.wait() == 0
    assert parent.text.count("WORKER_STARTED") == 2 + 3  # no fourth crash


@pytest.mark.parametrize(
    ("how", "error_class", "attempts"),
    [("exit", "WorkerLost", 2), ("kill", "WorkerLost", 2), ("memory", "MemoryError", 1)],
)
def test_only_the_task_that_ends_its_process_fails(fleet: Fleet, how: str, error_class: str, attempts: int) -> None:
    parent = fleet.start("runworker", "--concurrency", "2", "--processes", "2")
    culprit = fleet.submit("end_process", f'{{"how": "{how}"}}', max_attempts=2, priority=9)
    good = fleet.submit_many(50, "ledger_sync", max_attempts=5)
    fleet.wait_for([culprit], TaskStatus.DEAD_LETTERED, timeout=40)
    fleet.wait_for(good, TaskStatus.SUCCEEDED, timeout=20)
    task = fleet.task(culprit)
    assert (task.error_class, task.attempt, fleet.ran(culprit)) == (error_class, attempts, attempts)
    assert parent.alive
    until(lambda: len(psutil.Process(parent.pid).children()) == 2, timeout=20, what="both processes are there again")


def test_processes_end_with_their_parent(fleet: Fleet) -> None:
    parent = fleet.start("runworker", "--processes", "2")
    until(lambda: len(fleet.queries.workers()) == 2, timeout=30, what="two workers")
    children = psutil.Process(parent.pid).children()
    assert len(children) == 2
    os.kill(parent.pid, signal.SIGKILL)
    until(lambda: not any(child.is_running() and child.status() != "zombie" for child in children), what="no children")
    until(lambda: not fleet.queries.workers(), what="nobody among the workers")
