"""Redis goes and comes back, connections are cut, keys vanish: workers go on by themselves."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from functools import partial

import psutil
import pytest

from tasks_app.domain.status import TaskStatus
from tests.process.fleet import LEASE_S, Fleet, Process
from tests.support.server import PrivateServer
from tests.support.until import until


def lines_per_second(process: Process, since: int, seconds: float) -> float:
    return len(process.text[since:].splitlines()) / seconds


def passed(since: float, seconds: float) -> bool:
    return time.monotonic() - since >= seconds


@pytest.mark.timeout(180)
def test_workers_consume_again_after_redis_was_away(
    aof_server: PrivateServer, fleet_on: Callable[[PrivateServer], Fleet]
) -> None:
    fleet = fleet_on(aof_server)
    idle = fleet.worker("--queues", "idle")
    busy = fleet.worker("--queues", "busy")
    for away_s in (10.0, 1.0, 0.0):
        long = fleet.submit("ledger", '{"seconds": 2}', queue="busy")
        until(partial(fleet.ran, long), what="the busy one works")
        marks = [len(process.text) for process in (idle, busy)]
        aof_server.stop()
        gone_at = time.monotonic()
        until(partial(passed, gone_at, away_s), timeout=away_s + 1)
        aof_server.start()
        back_at = time.monotonic()
        fresh = [fleet.submit("ledger", queue=queue) for queue in ("idle", "busy")]
        fleet.wait_for(fresh, TaskStatus.SUCCEEDED, timeout=5)
        assert time.monotonic() - back_at < 5
        fleet.wait_for([long], TaskStatus.SUCCEEDED, timeout=20)
        for process, mark in zip((idle, busy), marks, strict=True):
            assert lines_per_second(process, mark, max(1.0, time.monotonic() - gone_at)) < 3
    for process in (idle, busy):
        process.send(signal.SIGTERM)
        assert process.wait() == 0


def test_a_short_outage_during_a_task_runs_it_once(
    aof_server: PrivateServer, fleet_on: Callable[[PrivateServer], Fleet]
) -> None:
    """Longer than the lease, and still the one that runs it renews before anybody reaps it."""
    fleet = fleet_on(aof_server)
    fleet.worker(concurrency=1)
    task_id = fleet.submit("ledger_sync", f'{{"seconds": {LEASE_S + 4}}}')
    until(lambda: fleet.ran(task_id) == 1, what="it runs")
    fleet.worker(concurrency=1)
    aof_server.stop()
    gone_at = time.monotonic()
    until(partial(passed, gone_at, LEASE_S + 0.5), timeout=LEASE_S + 2)
    aof_server.start()
    fleet.wait_for([task_id], TaskStatus.SUCCEEDED)
    assert fleet.ran(task_id) == 1
    assert fleet.task(task_id).attempt == 1


def test_workers_survive_cut_connections(fleet: Fleet) -> None:
    worker = fleet.worker()
    for _ in range(5):
        task_id = fleet.submit("ledger", '{"seconds": 0.3}')
        until(partial(fleet.ran, task_id), timeout=5, what="it runs")
        fleet.client.client_kill_filter(_type="normal", skipme=True)
        fleet.wait_for([task_id, fleet.submit("ledger")], TaskStatus.SUCCEEDED, timeout=5)
        assert fleet.ran(task_id) == 1
    assert worker.alive


def test_a_worker_waits_for_a_redis_that_is_not_there_yet(
    aof_server: PrivateServer, fleet_on: Callable[[PrivateServer], Fleet]
) -> None:
    fleet = fleet_on(aof_server)
    aof_server.stop()
    worker = fleet.worker(ready=False)
    until(lambda: "REDIS_UNAVAILABLE" in worker.text, timeout=30, what="a line that says so")
    aof_server.start()
    fleet.wait_for([fleet.submit("ledger")], TaskStatus.SUCCEEDED, timeout=5)
    until(lambda: "REDIS_BACK" in worker.text, what="a line that says so")


def test_a_worker_that_is_stopped_without_redis_ends_in_time(
    aof_server: PrivateServer, fleet_on: Callable[[PrivateServer], Fleet]
) -> None:
    fleet = fleet_on(aof_server)
    worker = fleet.worker(DRAIN_TIMEOUT_S="1")
    task_id = fleet.submit("ledger", '{"seconds": 60}')
    until(lambda: fleet.ran(task_id) == 1, what="it runs")
    aof_server.stop()
    worker.send(signal.SIGTERM)
    assert worker.wait(timeout=15) == 0


@pytest.mark.parametrize("loss", ["group", "stream", "everything"])
def test_lost_groups_and_streams_are_made_anew(fleet: Fleet, loss: str) -> None:
    worker = fleet.worker()
    fleet.wait_for(fleet.submit_many(3, "ledger"), TaskStatus.SUCCEEDED)
    stream = "dtq:stream:default:p5"
    mark = len(worker.text)
    process = psutil.Process(worker.pid)
    worker.send(signal.SIGSTOP)  # so that it cannot notice before the tasks are there
    if loss == "everything":
        fleet.client.flushall()
    else:
        fleet.client.xgroup_destroy(stream, "workers")
        if loss == "stream":
            fleet.client.delete(stream)
    ids = fleet.submit_many(10, "ledger")
    worker.send(signal.SIGCONT)
    busy_before, began = sum(process.cpu_times()[:2]), time.monotonic()
    fleet.wait_for(ids, TaskStatus.SUCCEEDED, timeout=5)
    assert [fleet.ran(task_id) for task_id in ids] == [1] * 10
    until(partial(passed, began, 3), what="three quiet seconds")
    assert (sum(process.cpu_times()[:2]) - busy_before) / (time.monotonic() - began) < 0.2
    assert lines_per_second(worker, mark, 3) <= 1


def test_an_idle_worker_hardly_speaks(fleet: Fleet) -> None:
    """At most five round trips a second from an idle worker that leads."""
    fleet.worker(HEARTBEAT_INTERVAL_S="1")
    fleet.wait_for([fleet.submit("ledger")], TaskStatus.SUCCEEDED)

    def asked() -> int:
        stats = fleet.client.info("commandstats")
        return sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("evalsha", "eval", "blpop", "ping"))

    # The heartbeat of the tests comes each second, not each five; a leader new to a server first catches up on upkeep.
    samples = [(time.monotonic(), asked())]

    def calm() -> bool:
        samples.append((time.monotonic(), asked()))
        then = next(((at, count) for at, count in reversed(samples) if samples[-1][0] - at >= 10), None)
        return then is not None and (samples[-1][1] - then[1]) / (samples[-1][0] - then[0]) - 0.8 <= 5.0

    until(calm, timeout=40, what="ten seconds with at most five round trips a second")
