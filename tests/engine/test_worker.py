"""Whole workers on the loop of the test and the real store: starting, working, leaving."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
import redis
import redis.asyncio

from tasks_app.domain.errors import CancelRequested
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.wish import Wish
from tasks_app.handlers import Registry
from tasks_app.store.commands import Commands
from tasks_app.store.keys import Keys
from tasks_app.store.leases import Leases
from tasks_app.store.presence import Presence
from tasks_app.store.queries import Queries
from tasks_app.store.schedule import Schedule
from tasks_app.store.wishes import Wishes
from tests.support.backend import Backend
from tests.support.builders import ACTOR, make_config, make_submission
from tests.support.until import until_async
from workers.engine.control import ControlChannel
from workers.engine.identity import new_identity
from workers.engine.worker import Worker

pytestmark = pytest.mark.real_redis


class Bench:
    """Workers with a registry of their own, and the store beside them."""

    def __init__(self, client: redis.Redis, backend: Backend) -> None:
        self.config = make_config(visibility_timeout_s=3.0, heartbeat_interval_s=0.5, drain_timeout_s=0.3)
        self.backend = backend
        self.commands = Commands(client, self.config)
        self.queries = Queries(client, self.config)
        self.registry = Registry()
        self.gate = threading.Event()
        self.runs: list[asyncio.Task[None]] = []
        self.workers: list[Worker] = []
        self.ran: list[str] = []

        @self.registry.task("echo")
        async def echo(payload, ctx):
            self.ran.append(ctx.task_id)
            return payload

        @self.registry.task("wait")
        async def wait(payload, ctx):
            self.ran.append(ctx.task_id)
            ctx.progress(0.5, "waiting")
            ctx.log("here")
            await asyncio.Event().wait()

        @self.registry.task("thread")
        def thread(payload, ctx):
            self.ran.append(ctx.task_id)
            self.gate.wait(20)
            return "out"

    def start(self, *, scheduler: bool = False, **options: Any) -> Worker:
        identity = new_identity()
        client = self.backend.async_client()
        worker = Worker(
            self.config,
            identity,
            self.registry,
            Leases(client, self.config),
            Presence(self.backend.client(), self.config),
            schedule=Schedule(client, self.config) if scheduler else None,
            control=ControlChannel(client, Keys("dtq").control(identity.worker_id)),
            **{"concurrency": 4, "version": "test", **options},
        )

        async def run() -> None:
            await worker.run(handle_signals=False)
            await client.aclose()

        self.workers.append(worker)
        self.runs.append(asyncio.create_task(run()))
        return worker

    def tell(self, worker: Worker, wish: Wish) -> None:
        Wishes(self.backend.client(), self.config).tell(self.id_of(worker), wish, ACTOR)

    @staticmethod
    def id_of(worker: Worker) -> str:
        return worker._identity.worker_id

    def submit(self, task_type: str, payload: str = "{}", **fields: Any) -> str:
        return self.commands.submit(make_submission(task_type=task_type, payload_json=payload, **fields)).task.id

    async def reach(self, task_id: str, status: TaskStatus) -> None:
        await until_async(lambda: self.queries.task(task_id).status is status, what=status)

    async def close(self) -> None:
        self.gate.set()
        for worker in self.workers:
            worker.stop()
            worker.stop()
        await asyncio.gather(*self.runs)


@pytest.fixture
async def bench(redis_client: redis.Redis, backend: Backend) -> AsyncIterator[Bench]:
    made = Bench(redis_client, backend)
    yield made
    await made.close()


async def test_a_worker_works_and_leaves(bench: Bench) -> None:
    worker = bench.start(scheduler=True, queues=("default",))
    now, later = bench.submit("echo", '{"a":1}'), bench.submit("echo", delay_ms=200)
    for task_id in (now, later):
        await bench.reach(task_id, TaskStatus.SUCCEEDED)
    assert bench.queries.task(now).result_json == '{"a":1}'
    await until_async(lambda: bench.queries.workers()[0].processed == 2, what="the heartbeat says so")
    shown = bench.queries.workers()[0]
    assert (shown.state, shown.concurrency, shown.queues, shown.version) == ("ready", 4, ("default",), "test")
    assert bench.queries.leader() == shown.id
    worker.stop()
    await bench.runs[0]
    assert bench.queries.workers() == []
    assert bench.queries.leader() is None
    assert worker.threads_busy == 0


async def test_progress_and_lines_show_while_it_runs(bench: Bench) -> None:
    bench.start()
    task_id = bench.submit("wait")
    await until_async(lambda: bench.queries.task(task_id).progress == 0.5, what="progress")
    detail = bench.queries.detail(task_id)
    assert detail.task.progress_note == "waiting"
    assert [line.message for line in detail.log] == ["here"]


async def test_draining_waits_then_gives_back_and_the_next_worker_takes_over(bench: Bench) -> None:
    first = bench.start()
    ids = [bench.submit("wait"), bench.submit("thread")]
    await until_async(lambda: len(bench.ran) == 2)
    first.stop()
    await bench.runs[0]
    assert first.threads_busy == 1
    bench.start()
    await until_async(lambda: len(bench.ran) == 4, timeout=2, what="both run again before the lease ends")
    for task_id in ids:
        task = bench.queries.task(task_id)
        assert (task.status, task.attempt, task.give_backs) == (TaskStatus.RUNNING, 1, 1)


async def test_a_second_stop_does_not_wait(bench: Bench) -> None:
    bench.config = make_config(drain_timeout_s=60, visibility_timeout_s=3.0, heartbeat_interval_s=0.5)
    worker = bench.start()
    bench.submit("thread")
    await until_async(lambda: len(bench.ran) == 1)
    worker.stop()
    await until_async(lambda: bench.queries.workers()[0].state == "draining", what="draining")
    worker.stop()
    async with asyncio.timeout(2):
        await bench.runs[0]


@pytest.fixture(params=["heard", "lost"])
def by_channel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether messages on the control channel arrive."""

    async def deaf(self: ControlChannel, *heard: Any) -> None:
        await asyncio.Event().wait()

    if request.param == "lost":
        monkeypatch.setattr(ControlChannel, "run_once", deaf)
    return bool(request.param == "heard")


async def test_a_cancel_is_heard(bench: Bench, by_channel: bool) -> None:
    bench.start()
    task_id = bench.submit("wait")
    await until_async(lambda: len(bench.ran) == 1)
    with pytest.raises(CancelRequested):
        bench.commands.cancel(task_id, ACTOR)
    await until_async(
        lambda: bench.queries.task(task_id).status is TaskStatus.CANCELLED, timeout=0.5 if by_channel else 2.0
    )


async def test_a_lease_lost_to_somebody_else_stops_the_handler(bench: Bench, redis_client: redis.Redis) -> None:
    worker = bench.start()
    task_id = bench.submit("wait")
    await until_async(lambda: len(bench.ran) == 1)
    redis_client.hset(f"dtq:task:{task_id}", mapping={"attempt": 2, "worker_id": "somebody"})
    await until_async(lambda: worker._slots.occupied == 0, timeout=3, what="the handler has stopped")
    assert bench.queries.task(task_id).status is TaskStatus.RUNNING
    assert bench.queries.task(task_id).worker_id == "somebody"


async def test_two_workers_share_the_work(bench: Bench) -> None:
    for _ in range(2):
        bench.start(concurrency=1)
    ids = [bench.submit("wait") for _ in range(2)]
    await until_async(lambda: len(bench.ran) == 2)
    assert len({bench.queries.task(task_id).worker_id for task_id in ids}) == 2


async def test_outcomes_pile_up_no_further_than_twice_the_slots(bench: Bench) -> None:
    bench.start(concurrency=3)
    ids = [bench.submit("echo", f'{{"n":{n}}}') for n in range(200)]
    for n, task_id in enumerate(ids):
        await bench.reach(task_id, TaskStatus.SUCCEEDED)
        assert bench.queries.task(task_id).result_json == f'{{"n":{n}}}'
    assert sorted(bench.ran) == sorted(ids)
