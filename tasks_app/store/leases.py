"""What a worker does with tasks, each for a whole batch in one script call. For the worker's event loop."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import redis.asyncio

from tasks_app.domain.config import Config
from tasks_app.domain.status import TaskStatus
from tasks_app.store import codec
from tasks_app.store.connections import translating
from tasks_app.store.scripts import Argument, AsyncScripts

LEASE_LOST = "LEASE_LOST"
MAX_CLAIM = 100
"""Tasks that one claim or one reclaim takes at most, whatever it is asked for."""
MAX_FINISH = 100
"""Outcomes that one call may bring."""
MAX_GIVEN_BACK = 500
LOG_LINE_CHARS = 2000
NOTE_CHARS = 200
_NAMES_FRESH_S = 5.0
_OWN_BELL_MS = 10_000
_SHORTEST_WAIT_S = 0.01
_LATE_S = 0.2
"""How late the end of a wait may come: the server looks ten times a second whose time is over."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A task this worker now runs. ``payload_json`` and ``metadata_json`` are JSON text."""

    id: str
    attempt: int
    max_attempts: int
    task_type: str
    queue: str
    priority: int
    timeout_ms: int
    payload_json: str
    metadata_json: str


@dataclass(frozen=True, slots=True)
class Absorbed:
    """A stream entry or an expired lease that led to no run; ``reason`` is ``duplicate``, a status or a fault."""

    task_id: str
    queue: str
    reason: str


@dataclass(frozen=True, slots=True)
class ClaimReply:
    """What a claim or a reclaim brought."""

    tasks: list[Claimed] = field(default_factory=list)
    absorbed: list[Absorbed] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Finish:
    """How an attempt ended. ``status`` is the verdict's, ``outcome`` goes into the attempt's history."""

    task_id: str
    attempt: int
    status: TaskStatus
    outcome: str
    delay_ms: int = 0
    result_json: str = ""
    error_class: str = ""
    error_message: str = ""
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """Progress (a fraction, ``None`` leaves it) and log lines of a running attempt."""

    task_id: str
    attempt: int
    progress: float | None = None
    note: str | None = None
    lines: tuple[str, ...] = ()


class Leases:
    """Claim, finish, reclaim, give back. Every method raises ``StoreUnavailable`` when Redis cannot serve it."""

    def __init__(self, client: redis.asyncio.Redis, config: Config) -> None:
        self._client = client
        self._scripts = AsyncScripts(client, config)
        self._keys = self._scripts.keys
        # A connection gives up on a reply after its own timeout, so no blocking command may take as long.
        patience_s = client.connection_pool.connection_kwargs.get("socket_timeout") or 60.0
        self._longest_wait_s = max(_SHORTEST_WAIT_S, patience_s - _LATE_S)
        self._turn = 0
        self._skip = 0
        self._names: tuple[str, ...] = ()  # of every queue, as far as known
        self._names_at = float("-inf")

    async def claim(self, worker_id: str, queues: tuple[str, ...], limit: int) -> ClaimReply:
        """Take up to ``limit`` waiting tasks, ``MAX_CLAIM`` at most, now ``running`` under this worker's lease.

        ``queues`` are served strictly in order, each from p9 to p0. Without any, all queues are, starting at another
        one each time. Where an answer was lost, the next call brings its tasks, as long as their leases last.
        """
        reply = await self._scripts.run("claim", *self._claim_arguments(worker_id, queues, limit))
        return self._claimed(*reply)

    async def claim_at_bell(
        self, worker_id: str, queues: tuple[str, ...], limit: int, timeout_s: float
    ) -> tuple[bool, ClaimReply]:
        """Wait for a doorbell of the queues (none: of every queue), then claim: whether one rang, and :meth:`claim`.

        The claim waits at the server, behind the bell, and is carried out whether one rings or the time is over, which
        is before the connection's own timeout. So whoever goes away before the answer leaves tasks behind: first
        :meth:`leave_bell`, then take the answer. A bell is a hint and may be lost.
        """
        bells = [self._keys.wake(queue) for queue in (*(queues or await self._every_queue()), _own_bell(worker_id))]
        wait: tuple[Argument, ...] = ("BLPOP", *bells, min(timeout_s, self._longest_wait_s))
        rung, reply = await self._scripts.run_behind(wait, "claim", *self._claim_arguments(worker_id, queues, limit))
        if rung is not None and rung[0] == self._keys.wake("*").encode():
            self._names_at = float("-inf")  # a queue was born: listen to its bell from the next wait on
        return rung is not None, self._claimed(*reply)

    async def leave_bell(self, worker_id: str) -> None:
        """Make the worker's own wait end now."""
        bell = self._keys.wake(_own_bell(worker_id))
        with translating():
            async with self._client.pipeline(transaction=True) as pipe:
                pipe.lpush(bell, 1)
                pipe.pexpire(bell, _OWN_BELL_MS)
                await pipe.execute()

    def _claim_arguments(self, worker_id: str, queues: tuple[str, ...], limit: int) -> tuple[str | int, ...]:
        return (worker_id, min(limit, MAX_CLAIM), self._turn, *queues)

    def _claimed(self, taken: Any, absorbed: Any) -> ClaimReply:
        self._turn += 1  # first: an answer that nobody could read would come again for ever
        reply = _reply(taken, absorbed)
        if not {task.queue for task in reply.tasks}.issubset(self._names):
            self._names_at = float("-inf")  # its birth was told to others
        return reply

    async def reclaim(self, worker_id: str, queues: tuple[str, ...], limit: int) -> ClaimReply:
        """Re-adopt up to ``limit`` tasks whose lease has run out; exhausted and cancelled ones end anyway.

        ``MAX_CLAIM`` at most. One call looks at a bounded number of leases; where none of them was for this worker, the
        next one goes on.
        """
        most = min(limit, MAX_CLAIM)
        adopted, settled, self._skip = await self._scripts.run("reclaim", worker_id, most, self._skip, *queues)
        return _reply(adopted, settled)

    async def finish(self, worker_id: str, batch: Sequence[Finish]) -> list[str]:
        """Write up to ``MAX_FINISH`` outcomes. Per item the task's status now, or ``LEASE_LOST`` (nothing was written).

        Raises:
            ValueError: there are more.
        """
        _need_at_most(MAX_FINISH, batch)
        args: list[str | int] = []
        for f in batch:
            args += (
                f.task_id,
                f.attempt,
                f.status.value,
                f.outcome,
                f.delay_ms,
                f.result_json,
                f.error_class,
                f.error_message,
                f.traceback,
            )
        return [word.decode() for word in await self._scripts.run("finish", worker_id, *args)]

    async def give_back(self, worker_id: str, running: Sequence[tuple[str, int]]) -> int:
        """End the leases of up to ``MAX_GIVEN_BACK`` ``(task_id, attempt)`` now; how many were still this worker's.

        Raises:
            ValueError: there are more.
        """
        _need_at_most(MAX_GIVEN_BACK, running)
        if not running:
            return 0
        return int(await self._scripts.run("giveback", worker_id, *(part for task in running for part in task)))

    async def note(self, worker_id: str, notes: Sequence[Note]) -> None:
        """Store progress and log lines; long ones are cut, those of lost attempts dropped."""
        args: list[str | int | float] = []
        for n in notes:
            progress = "" if n.progress is None else n.progress
            args += (n.task_id, n.attempt, progress, (n.note or "")[:NOTE_CHARS], len(n.lines))
            args += (line if len(line) <= LOG_LINE_CHARS else line[:LOG_LINE_CHARS] + " … (cut)" for line in n.lines)
        if args:
            await self._scripts.run("note", worker_id, *args)

    async def _every_queue(self) -> tuple[str, ...]:
        if time.monotonic() - self._names_at > _NAMES_FRESH_S:
            with translating():
                names = await cast(Awaitable[set[bytes]], self._client.smembers(self._keys.queues))
            # '*' rings when a queue is born whose own bell nobody listens to yet.
            self._names = ("*", *sorted(map(codec.name, names)))
            self._names_at = time.monotonic()
        return self._names


def _own_bell(worker_id: str) -> str:
    return f"*{worker_id}"  # no queue's name begins like that


def _need_at_most(most: int, batch: Sequence[object]) -> None:
    if len(batch) > most:
        raise ValueError(f"at most {most} a call, not {len(batch)}: one script must not hold the server")


def _reply(taken: Any, absorbed: Any) -> ClaimReply:
    return ClaimReply(
        [
            Claimed(
                # All of these are running by now: one that cannot be read must not keep the others from their handlers.
                codec.name(task_id),
                codec.number(attempt),
                codec.number(max_attempts),
                codec.name(task_type),
                codec.name(queue),
                codec.number(priority),
                codec.number(timeout_ms),
                # Damaged text reaches the handler's decoder as such and ends the task there, not the whole batch here.
                payload.decode(errors="surrogateescape"),
                metadata.decode(errors="surrogateescape"),
            )
            for task_id, attempt, max_attempts, task_type, queue, priority, timeout_ms, payload, metadata in taken
        ],
        [Absorbed(*map(codec.name, entry)) for entry in absorbed],
    )
