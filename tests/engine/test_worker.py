"""Whole workers on the loop of the test and the real store: starting, working, leaving."""

from __future__ import annotations

import asyncio

import pytest
import redis

from tasks_app.domain.errors import CancelRequested
from tasks_app.domain.status import TaskStatus
from tests.engine.worker_bench import WorkerBench
from tests.support.builders import ACTOR, make_config
from tests.support.until import until_async
from workers.engine.lease_keeper import LeaseKeeper

pytestmark = pytest.mark.real_redis


async def test_a_worker_works_and_leaves(bench: WorkerBench) -> None:
    worker = bench.start(scheduler=True, queues=("default",))
    now, later = bench.submit("echo", '{"a":1}'), bench.submit("echo", delay_ms=200)
    for task_id in (now, later):
        await bench.reach(task_id, TaskStatus.SUCCEEDED)
    assert bench.queries.task(now).result_json == '{"a":1}'
    [shown] = await until_async(
        lambda: [seen for seen in bench.queries.workers() if seen.processed == 2], what="the heartbeat says so"
    )
    assert (shown.state, shown.concurrency, shown.queues, shown.version) == ("ready", 4, ("default",), "test")
    assert shown.drain_timeout_ms == 300
    assert bench.queries.leader() == shown.id
    worker.stop()
    await bench.runs[0]
    assert bench.queries.workers() == []
    assert bench.queries.leader() is None
    assert worker.threads_busy == 0


async def test_progress_and_lines_show_while_it_runs(bench: WorkerBench) -> None:
    bench.start()
    task_id = bench.submit("wait")
    await until_async(lambda: bench.queries.task(task_id).progress == 0.5, what="progress")
    detail = bench.queries.detail(task_id)
    assert detail.task.progress_note == "waiting"
    assert [line.message for line in detail.log] == ["here"]


async def test_draining_waits_then_gives_back_and_the_next_worker_takes_over(bench: WorkerBench) -> None:
    first = bench.start()
    ids = [bench.submit("wait"), bench.submit("thread")]
    await until_async(lambda: len(bench.ran) == 2)
    first.stop()
    await bench.runs[0]
    assert first.threads_busy == 1
    bench.start()
    await until_async(lambda: len(bench.ran) == 4, what="both run again before the lease ends")
    for task_id in ids:
        task = bench.queries.task(task_id)
        assert (task.status, task.attempt, task.give_backs) == (TaskStatus.RUNNING, 1, 1)


async def test_a_second_stop_does_not_wait(bench: WorkerBench) -> None:
    bench.config = make_config(drain_timeout_s=60, heartbeat_interval_s=0.5)
    worker = bench.start()
    bench.submit("thread")
    await until_async(lambda: len(bench.ran) == 1)
    worker.stop()
    await until_async(lambda: [seen.state for seen in bench.queries.workers()] == ["draining"], what="draining")
    worker.stop()
    async with asyncio.timeout(20):
        await bench.runs[0]


async def test_a_cancel_is_heard(bench: WorkerBench, by_channel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if by_channel:
        monkeypatch.setattr(LeaseKeeper, "_renew", lambda self: None)  # which would tell of it as well
    bench.start()
    task_id = bench.submit("wait")
    await until_async(lambda: len(bench.ran) == 1)
    with pytest.raises(CancelRequested):
        bench.commands.cancel(task_id, ACTOR)
    await bench.reach(task_id, TaskStatus.CANCELLED)


async def test_a_lease_lost_to_somebody_else_stops_the_handler(bench: WorkerBench, redis_client: redis.Redis) -> None:
    worker = bench.start()
    task_id = bench.submit("wait")
    await until_async(lambda: len(bench.ran) == 1)
    redis_client.hset(f"dtq:task:{task_id}", mapping={"attempt": 2, "worker_id": "somebody"})
    await until_async(lambda: worker._slots.occupied == 0, what="the handler has stopped")
    assert bench.queries.task(task_id).status is TaskStatus.RUNNING
    assert bench.queries.task(task_id).worker_id == "somebody"


async def test_two_workers_share_the_work(bench: WorkerBench) -> None:
    for _ in range(2):
        bench.start(concurrency=1)
    ids = [bench.submit("wait") for _ in range(2)]
    await until_async(lambda: len(bench.ran) == 2)
    assert len({bench.queries.task(task_id).worker_id for task_id in ids}) == 2


async def test_outcomes_pile_up_no_further_than_twice_the_slots(bench: WorkerBench) -> None:
    bench.start(concurrency=3)
    ids = [bench.submit("echo", f'{{"n":{n}}}') for n in range(200)]
    for n, task_id in enumerate(ids):
        await bench.reach(task_id, TaskStatus.SUCCEEDED)
        assert bench.queries.task(task_id).result_json == f'{{"n":{n}}}'
    assert sorted(bench.ran) == sorted(ids)
