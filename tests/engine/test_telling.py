"""Whole workers that are told to be quiet, to resume and to stop."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import redis

from tasks_app.domain.status import TaskStatus
from tasks_app.domain.wish import Wish
from tasks_app.store.leases import Leases
from tests.engine.worker_bench import WorkerBench
from tests.support.builders import make_config
from tests.support.until import until_async
from workers.engine import fetcher
from workers.engine.reaper import Reaper

pytestmark = pytest.mark.real_redis


async def beaten(bench: WorkerBench, times: int) -> None:
    """Wait until the worker has sent so many more heartbeats."""
    for _ in range(times):
        last = bench.queries.workers()[0].seen_at
        await until_async(lambda: bench.queries.workers()[0].seen_at > last, what="a heartbeat")  # noqa: B023


async def test_quiet_finishes_what_runs_takes_nothing_new_and_comes_back(bench: WorkerBench, by_channel: bool) -> None:
    worker = bench.start(concurrency=2)
    running = bench.submit("thread")
    await until_async(lambda: len(bench.ran) == 1)
    await bench.tell(worker, Wish.QUIET)
    await until_async(lambda: bench.queries.workers()[0].state == "quiet", what="quiet")
    waiting = bench.submit("echo")
    bench.gate.set()
    await bench.reach(running, TaskStatus.SUCCEEDED)
    await beaten(bench, 3)
    assert bench.queries.task(waiting).status is TaskStatus.QUEUED
    await bench.tell(worker, Wish.RESUME)
    await bench.reach(waiting, TaskStatus.SUCCEEDED)
    await until_async(lambda: bench.queries.workers()[0].state == "ready", what="ready")


async def test_it_is_shown_quiet_once_its_last_claim_is_answered(
    bench: WorkerBench, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unheard(self: Leases, worker_id: str) -> None:
        return

    monkeypatch.setattr(Leases, "leave_bell", unheard)
    monkeypatch.setattr(fetcher, "LEAVE_S", 60.0)
    monkeypatch.setattr(Reaper, "due_in", lambda self, free: 60.0)
    worker = bench.start()
    await bench.reach(bench.submit("echo"), TaskStatus.SUCCEEDED)
    await until_async(lambda: worker._fetcher._at_bell is not None, what="it waits for a task")
    await bench.tell(worker, Wish.QUIET)
    await until_async(lambda: worker._duty.quiet, what="it has heard")
    await beaten(bench, 2)
    assert bench.queries.workers()[0].state == "ready"
    task_id = bench.submit("echo")
    await until_async(lambda: bench.queries.workers()[0].state == "quiet", what="quiet")
    assert redis_client.hexists(f"dtq:task:{task_id}", "given_back")


async def test_a_stop_is_a_drain_that_hearing_it_again_does_not_hurry(bench: WorkerBench, by_channel: bool) -> None:
    bench.config = make_config(drain_timeout_s=60, heartbeat_interval_s=0.2)
    worker = bench.start()
    running = bench.submit("thread")
    await until_async(lambda: len(bench.ran) == 1)
    await bench.tell(worker, Wish.STOP)
    await until_async(lambda: bench.queries.workers()[0].state == "draining", what="draining")
    await bench.tell(worker, Wish.STOP)
    await beaten(bench, 3)
    assert bench.queries.task(running).status is TaskStatus.RUNNING
    bench.gate.set()
    async with asyncio.timeout(20):
        await bench.runs[0]
    assert bench.queries.task(running).status is TaskStatus.SUCCEEDED
    assert bench.queries.task(running).give_backs == 0
    assert bench.queries.workers() == []


async def test_an_idle_worker_leaves_its_bell_to_be_quiet(bench: WorkerBench) -> None:
    worker = bench.start()
    done = bench.submit("echo")
    await bench.reach(done, TaskStatus.SUCCEEDED)
    for _ in range(3):  # and each time it comes back it looks at once
        await bench.tell(worker, Wish.QUIET)
        await until_async(lambda: bench.queries.workers()[0].state == "quiet", what="quiet")
        waiting = bench.submit("echo")
        await beaten(bench, 1)
        assert bench.queries.task(waiting).status is TaskStatus.QUEUED
        await bench.tell(worker, Wish.RESUME)
        await bench.reach(waiting, TaskStatus.SUCCEEDED)


async def test_a_claim_that_is_answered_to_a_quiet_worker_is_given_back(
    bench: WorkerBench,
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = bench.start()
    await bench.tell(worker, Wish.QUIET)
    await until_async(lambda: bench.queries.workers()[0].state == "quiet", what="quiet")
    claim, held = Leases.claim, asyncio.Event()
    asked = asyncio.Event()

    async def slowly(self: Leases, *args: Any) -> Any:
        reply = await claim(self, *args)
        asked.set()
        await held.wait()
        return reply

    monkeypatch.setattr(Leases, "claim", slowly)
    task_id = bench.submit("echo")
    await bench.tell(worker, Wish.RESUME)
    await asked.wait()
    await bench.tell(worker, Wish.QUIET)
    await until_async(lambda: worker._duty.quiet, what="it has heard")
    held.set()
    await until_async(lambda: redis_client.hexists(f"dtq:task:{task_id}", "given_back"), what="given back")
    assert bench.ran == []
    await bench.tell(worker, Wish.RESUME)
    await bench.reach(task_id, TaskStatus.SUCCEEDED)
    task = bench.queries.task(task_id)
    assert (task.attempt, task.give_backs) == (1, 1)


async def test_a_quiet_worker_stops(bench: WorkerBench) -> None:
    worker = bench.start()
    await bench.tell(worker, Wish.QUIET)
    await until_async(lambda: bench.queries.workers()[0].state == "quiet", what="quiet")
    await bench.tell(worker, Wish.STOP)
    async with asyncio.timeout(20):
        await bench.runs[0]
