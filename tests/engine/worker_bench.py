"""Whole workers on the loop of the test and the real store, with handlers of every kind."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import redis

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


class WorkerBench:
    """Workers with a registry of their own, and the store beside them."""

    def __init__(self, client: redis.Redis, backend: Backend) -> None:
        self.config = make_config(heartbeat_interval_s=0.5, drain_timeout_s=0.3)
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

    async def tell(self, worker: Worker, wish: Wish) -> None:
        """Tell it, once it is there to be told: its first task may be done before its first heartbeat."""
        await until_async(lambda: self.shows(worker), what="it is there")
        Wishes(self.backend.client(), self.config).tell(self.id_of(worker), wish, ACTOR)

    def shows(self, worker: Worker) -> bool:
        """True when the worker is on the list, and not as gone."""
        return any(seen.id == self.id_of(worker) and seen.state != "gone" for seen in self.queries.workers())

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
