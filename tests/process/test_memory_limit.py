"""A Redis that is full: workers stay calm, finish what runs, and go on by themselves when there is room again."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil
import pytest

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.domain.status import TaskStatus
from tests.process.fleet import Fleet
from tests.support.server import PrivateServer
from tests.support.until import until


def test_a_full_redis_refuses_new_work_and_lets_what_runs_finish(
    make_server: Callable[..., PrivateServer], fleet_on: Callable[[PrivateServer], Fleet]
) -> None:
    fleet = fleet_on(make_server())
    worker = fleet.worker(concurrency=5)
    running = fleet.submit_many(5, "sleep", '{"seconds": 4}')
    fleet.wait_for(running, TaskStatus.RUNNING)
    waiting = fleet.submit_many(20, "noop")
    fleet.client.config_set("maxmemory", 1)
    with pytest.raises(StoreUnavailable):
        fleet.submit("noop")
    mark, began, process = len(worker.text), time.monotonic(), psutil.Process(worker.pid)
    before = sum(process.cpu_times()[:2])
    fleet.wait_for(running, TaskStatus.SUCCEEDED, timeout=10)
    until(lambda: time.monotonic() - began >= 5, timeout=6)
    took = time.monotonic() - began
    assert len(worker.text[mark:].splitlines()) / took <= 2
    assert (sum(process.cpu_times()[:2]) - before) / took < 0.3
    fleet.client.config_set("maxmemory", 0)
    fleet.wait_for(waiting, TaskStatus.SUCCEEDED, timeout=10)
    assert {fleet.task(task_id).attempt for task_id in running + waiting} == {1}
