"""Hosts whose clocks are wrong, and one that is set back: the server's clock decides, so nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tasks_app.domain.status import TaskStatus
from tasks_app.store.queries import Queries
from tests.process.fleet import LEASE_S, Fleet
from tests.support.until import until

# Loaded by every Python of the worker, its guard process included, before anything else.
SITECUSTOMIZE = """
import os, time
real_s, real_ns, file = time.time, time.time_ns, os.environ["WRONG_CLOCK"]
def wrong_by():
    with open(file) as text:
        return int(text.read())
time.time = lambda: real_s() + wrong_by()
time.time_ns = lambda: real_ns() + wrong_by() * 10**9
"""


class WrongClock:
    """What ``time.time`` is wrong by, in seconds, in processes started under it."""

    def __init__(self, file: Path, seconds: int) -> None:
        self._file = file
        self.set(seconds)

    def set(self, seconds: int) -> None:
        """Step the clock of the running processes."""
        self._file.write_text(str(seconds))


@pytest.fixture
def fleet_with_clock(
    redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[int], tuple[Fleet, WrongClock]]]:
    """Makes fleets whose hosts' clocks are wrong by that many seconds."""
    made: list[Fleet] = []
    (tmp_path / "sitecustomize.py").write_text(SITECUSTOMIZE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def make(seconds: int) -> tuple[Fleet, WrongClock]:
        folder = tmp_path / f"host{seconds}"
        folder.mkdir()
        monkeypatch.setenv("WRONG_CLOCK", str(folder / "clock"))
        clock = WrongClock(folder / "clock", seconds)
        made.append(Fleet(redis_url, folder))
        return made[-1], clock

    yield make
    for fleet in made:
        fleet.close()


def test_nothing_starts_early_and_no_lease_is_stolen(
    fleet_with_clock: Callable[[int], tuple[Fleet, WrongClock]],
) -> None:
    fast, _ = fleet_with_clock(600)
    slow, clock = fleet_with_clock(-600)
    workers = [fast.worker(concurrency=2), slow.worker(concurrency=2)]
    shown = {worker.pid: worker.started_at for worker in slow.queries.workers()}
    assert shown[workers[0].pid] - shown[workers[1].pid] > 1_000_000  # the clocks are as wrong as they should be
    long = fast.submit_many(4, "ledger", f'{{"seconds": {2 * LEASE_S}}}')
    until(lambda: all(fast.ran(task_id) for task_id in long), what="both workers are full")
    delayed = fast.submit_many(4, "ledger", delay_ms=round(LEASE_S * 1000))
    clock.set(-4200)
    # A heartbeat may be late, but not as late as the clocks are wrong.
    patient = Queries(fast.client, replace(fast.config, visibility_timeout_s=180, heartbeat_interval_s=60))
    seen: set[str] = set()

    def all_ended() -> bool:
        seen.update(worker.state for worker in patient.workers())
        return fast.all_in(long + delayed, TaskStatus.SUCCEEDED)

    until(all_ended, timeout=6 * LEASE_S, what="all have run")
    for task_id in long + delayed:
        assert (fast.ran(task_id), fast.task(task_id).attempt) == (1, 1)
    for task_id in delayed:
        task = fast.task(task_id)
        assert task.enqueued_at is not None and task.enqueued_at - task.created_at >= LEASE_S * 1000
    assert seen <= {"ready", "busy"}
