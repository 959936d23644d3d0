"""Brings tasks into any status by the product's own steps, and turns clocks by moving stored times."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tasks_app.domain.config import Config
from tasks_app.domain.status import TaskStatus
from tasks_app.store.commands import Commands
from tasks_app.store.connections import connect, connect_async
from tasks_app.store.keys import Keys
from tasks_app.store.leases import Claimed, ClaimReply, Finish, Leases
from tasks_app.store.schedule import Schedule
from tests.support import invariants
from tests.support.builders import ACTOR, make_submission
from tests.support.keyspace import RawClient
from tests.support.until import until

WORKER = "w1"
OTHER_WORKER = "w2"
LEADER = "host:1"
TOKEN = "t1"
HOUR_MS = 3_600_000


@asynccontextmanager
async def staged(url: str, config: Config) -> AsyncIterator[Stage]:
    """A stage on a server of the test's own. At the end every invariant is checked there too."""
    client, aio = connect(url), connect_async(url)
    try:
        yield Stage(client, config, Commands(client, config), Leases(aio, config), Schedule(aio, config))
        invariants.check(client, Keys(config.key_prefix))
    finally:
        client.close()
        await aio.aclose()


class Stage:
    """The store's four sides over one server, and the steps that tests repeat."""

    def __init__(
        self, client: RawClient, config: Config, commands: Commands, leases: Leases, schedule: Schedule
    ) -> None:
        self.client = client
        self.config = config
        self.keys = Keys(config.key_prefix)
        self.commands = commands
        self.leases = leases
        self.schedule = schedule

    def submit(self, **overrides: Any) -> str:
        """Submit a task and return its id."""
        return self.commands.submit(make_submission(**overrides)).task.id

    def minute(self) -> int:
        """The minute of the server's clock, by its number, and not one that is about to end."""
        return until(lambda: int(self.client.time()[0]) % 60 < 57 and int(self.client.time()[0]) // 60)

    async def claim(self, worker: str = WORKER, queues: tuple[str, ...] = (), limit: int = 100) -> ClaimReply:
        return await self.leases.claim(worker, queues, limit)

    async def rung(self, queues: tuple[str, ...], timeout_s: float) -> bool:
        """Wait at the doorbells, and claim."""
        rung, _ = await self.leases.claim_at_bell(WORKER, queues, 100, timeout_s)
        return rung

    async def running(self, worker: str = WORKER, **overrides: Any) -> Claimed:
        """A task that ``worker`` has just claimed."""
        task_id = self.submit(**overrides)
        reply = await self.claim(worker, (make_submission(**overrides).queue,))
        return next(task for task in reply.tasks if task.id == task_id)

    async def finish(self, task: Claimed, status: TaskStatus, worker: str = WORKER, **fields: Any) -> str:
        """End an attempt and return what the store says of it."""
        outcome = {"succeeded": "succeeded", "cancelled": "cancelled"}.get(status, "failed")
        if status is TaskStatus.SUCCEEDED:
            fields.setdefault("result_json", "null")
        elif status is not TaskStatus.CANCELLED:
            fields = {"error_class": "ValueError", "error_message": "no", "traceback": "Traceback"} | fields
        [word] = await self.leases.finish(worker, [Finish(task.id, task.attempt, status, outcome, **fields)])
        return word

    async def task(self, status: TaskStatus, **overrides: Any) -> str:
        """A task in ``status``, brought there by real steps."""
        if status is TaskStatus.PENDING:
            return self.submit(delay_ms=HOUR_MS, **overrides)
        if status is TaskStatus.QUEUED:
            return self.submit(**overrides)
        if status is TaskStatus.CANCELLED:
            task_id = self.submit(**overrides)
            self.commands.cancel(task_id, ACTOR)
            return task_id
        if status is TaskStatus.EXPIRED:
            task_id = self.submit(**{"ttl_ms": HOUR_MS} | overrides)
            self.outlive_ttl(task_id)
            await self.claim(queues=(make_submission(**overrides).queue,))
            return task_id
        task = await self.running(**overrides)
        if status is not TaskStatus.RUNNING:
            delay_ms = HOUR_MS if status is TaskStatus.RETRYING else 0
            assert await self.finish(task, status, delay_ms=delay_ms) == status
        return task.id

    async def one_of_each(self, **overrides: Any) -> dict[TaskStatus, str]:
        """A task in every status, of one queue and type. The queued one comes last, as claims would take it."""
        ids = {status: await self.task(status, **overrides) for status in TaskStatus if status is not TaskStatus.QUEUED}
        return ids | {TaskStatus.QUEUED: self.submit(**overrides)}

    async def lead(self) -> None:
        assert await self.schedule.lead(LEADER, TOKEN)

    async def release(self) -> int:
        """One scheduler pass over what is due. Returns how many tasks moved."""
        await self.lead()
        due = await self.schedule.claim_due(TOKEN, 500)
        return await self.schedule.requeue_claimed(TOKEN, due.ids)

    async def sweep(self) -> None:
        """Upkeep until nothing is left to do; also a full round over the queues' repair."""
        await self.lead()
        for _ in range(5 + self.client.scard(self.keys.queues)):
            while await self.schedule.sweep(TOKEN):
                await self.lead()

    def record(self, task_id: str) -> dict[str, str]:
        """The task's hash as text."""
        return {name.decode(): value.decode() for name, value in self.client.hgetall(self.keys.task(task_id)).items()}

    def status(self, task_id: str) -> str | None:
        return self.record(task_id).get("status")

    def outlive_ttl(self, task_id: str) -> None:
        """Let the task's time to live have run out."""
        self.client.hset(self.keys.task(task_id), "expires_at", 1)

    def make_due(self, task_id: str) -> None:
        """Let a scheduled task be due."""
        assert self.client.zadd(self.keys.schedule, {task_id: 1}, xx=True, ch=True)

    def lapse(self, task_id: str) -> None:
        """Let a running task's lease have run out."""
        assert self.client.zscore(self.keys.leases, task_id) is not None
        self.client.zadd(self.keys.leases, {task_id: 1})

    def entries(self, queue: str = "default", priority: int = 5) -> list[tuple[bytes, dict[bytes, bytes]]]:
        """What the lane's stream holds."""
        found: list[tuple[bytes, dict[bytes, bytes]]] = self.client.xrange(self.keys.stream(queue, priority))
        return found
