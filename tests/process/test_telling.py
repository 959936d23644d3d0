"""Workers that are told to be quiet or to stop, through Redis alone."""

from __future__ import annotations

import signal

from tasks_app.domain.status import TaskStatus
from tasks_app.domain.wish import Wish
from tasks_app.store.wishes import Wishes
from tests.process.fleet import ACTOR, Fleet, Process
from tests.support.until import until


def tell(fleet: Fleet, worker: Process, wish: Wish) -> str:
    """Tell it; its id."""
    worker_id = fleet.worker_id(worker)
    Wishes(fleet.client, fleet.config).tell(worker_id, wish, ACTOR)
    return worker_id


def state(fleet: Fleet, worker: Process) -> str:
    return next((seen.state for seen in fleet.queries.workers() if seen.pid == worker.pid), "left")


def test_tasks_flow_round_a_quiet_worker_and_a_stop_loses_nothing(fleet: Fleet) -> None:
    first, second = (fleet.worker(concurrency=2, DRAIN_TIMEOUT_S="10") for _ in range(2))
    long = fleet.submit_many(4, "ledger", '{"seconds": 1.5}')
    until(lambda: all(fleet.ran(task_id) for task_id in long), what="four run on two workers")
    quiet = tell(fleet, first, Wish.QUIET)
    until(lambda: state(fleet, first) == "quiet", what="the first is quiet")
    others = fleet.submit_many(40, "ledger")
    fleet.wait_for(others + long, TaskStatus.SUCCEEDED)
    assert {fleet.task(task_id).worker_id for task_id in others} == {fleet.worker_id(second)}
    assert [fleet.ran(task_id) for task_id in long] == [1] * 4  # what it ran it has finished
    until(lambda: state(fleet, first) == "quiet", what="it still is")  # it may be late for a moment

    tell(fleet, first, Wish.RESUME)
    tell(fleet, second, Wish.QUIET)
    until(lambda: (state(fleet, first), state(fleet, second)) == ("ready", "quiet"), what="they have changed places")
    running = fleet.submit_many(2, "ledger", '{"seconds": 1}')
    waiting = fleet.submit_many(20, "ledger")
    until(lambda: all(fleet.ran(task_id) for task_id in running), what="two run on the first")
    tell(fleet, first, Wish.STOP)
    assert first.wait() == 0
    assert fleet.all_in(running, TaskStatus.SUCCEEDED)
    assert state(fleet, first) == "left"
    assert not fleet.client.exists(f"dtq:told:{quiet}")
    tell(fleet, second, Wish.RESUME)
    fleet.wait_for(waiting, TaskStatus.SUCCEEDED)
    assert [fleet.ran(task_id) for task_id in running + waiting] == [1] * 22


def test_a_frozen_worker_follows_when_it_goes_on(fleet: Fleet) -> None:
    worker = fleet.worker(concurrency=2)
    worker.send(signal.SIGSTOP)
    worker_id = tell(fleet, worker, Wish.QUIET)
    until(lambda: state(fleet, worker) in {"gone", "left"}, what="its record has ended")
    worker.send(signal.SIGCONT)
    until(lambda: state(fleet, worker) == "quiet", what="quiet")
    assert fleet.worker_id(worker) == worker_id
    tell(fleet, worker, Wish.STOP)
    assert worker.wait() == 0


def test_a_stop_ends_a_worker_whose_loop_is_blocked(fleet: Fleet) -> None:
    worker = fleet.worker(concurrency=2, DRAIN_TIMEOUT_S="1")
    task_id = fleet.submit("block_loop", '{"seconds": 60}', max_attempts=2)
    until(lambda: fleet.ran(task_id) == 1, what="it runs")
    tell(fleet, worker, Wish.STOP)
    assert worker.wait() == 0
    assert "STOPPED_BY_FORCE" in worker.text
