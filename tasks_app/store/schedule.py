"""What the scheduler's leader does. Every script checks the token, so a former leader changes nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import redis.asyncio

from tasks_app.domain.config import Config
from tasks_app.store import codec
from tasks_app.store.connections import translating
from tasks_app.store.operations import Operations
from tasks_app.store.rollup import Rollup
from tasks_app.store.scripts import AsyncScripts
from tasks_app.store.totals import Fold

_STEP = 500
_CLAIM_MS = 60_000
_MEMBERS = 2
"""Retention members a step; each holds up to a hundred ids."""
_NAMES_EVERY_S = 60.0
_REPAIRED = 20
"""Queues that one call repairs at most; it does fewer when they hold much."""
_REPAIRS = 5
"""Such calls a sweep that finds nothing else to do; one otherwise, as the next sweep follows at once."""
_SAMPLE_EVERY_S = 10.0
_SAMPLE_STEP = 50
"""Queues sampled per call."""


@dataclass(frozen=True, slots=True)
class Due:
    """Claimed ids, the milliseconds until the next task is due (``None``: nothing scheduled), and whether we lead."""

    ids: list[str]
    next_due_ms: int | None
    leading: bool


class Schedule:
    """Every method raises ``StoreUnavailable`` when Redis cannot serve it."""

    def __init__(self, client: redis.asyncio.Redis, config: Config, operations: Operations | None = None) -> None:
        self._client = client
        self._scripts = AsyncScripts(client, config)
        self._keys = self._scripts.keys
        self._rollup = Rollup(client, config)
        self._fold = Fold(client, config)
        self._operations = operations
        self._names_at = float("-inf")
        self._sampled_at = float("-inf")
        self._queues: list[str] = []
        self._resume_from = ""

    async def lead(self, owner: str, token: str) -> bool:
        """Take or renew the leader's lock for ten seconds; the lock shows ``owner`` (a worker id) beside the token."""
        return bool(await self._scripts.run("lead", token, owner))

    async def resign(self, token: str) -> None:
        """Give the lock up if we hold it."""
        await self._scripts.run("resign", token)

    async def claim_due(self, token: str, limit: int = _STEP) -> Due:
        """Take up to ``limit`` due tasks out of the schedule. A task claimed and not released comes back after 60 s."""
        reply = await self._scripts.run("due", token, limit)
        if reply == b"NOT_LEADER":
            return Due([], None, leading=False)
        ids, next_due = reply
        return Due([codec.name(task_id) for task_id in ids], None if next_due < 0 else int(next_due), leading=True)

    async def requeue_claimed(self, token: str, ids: Sequence[str]) -> int:
        """Move claimed tasks into their streams, or to ``expired``. Returns how many moved."""
        return _count(await self._scripts.run("release", token, *ids)) if ids else 0

    async def return_claims(self, token: str, older_than_ms: int = _CLAIM_MS) -> int:
        """Put up to 500 claims of that age back into the schedule; 0 is for a leader that has none under way itself."""
        return _count(await self._scripts.run("unclaim", token, _STEP, older_than_ms))

    async def operate(self, seconds: float) -> bool:
        """Work on operations for about so long, in a thread of its own. True while something is left."""
        return self._operations is not None and await asyncio.to_thread(self._operations.run_for, seconds)

    async def sweep(self, token: str) -> bool:
        """One bounded step of upkeep: retention's index members, idempotency keys, names that left, repair of queues.

        Three to ten round trips and, now and then, those of :meth:`sample`. True when there is more to do now.
        """
        swept = _count(await self._scripts.run("sweep_retention", token, _MEMBERS))
        extended = _count(await self._scripts.run("sweep_keys", token, _STEP))
        if time.monotonic() - self._names_at > _NAMES_EVERY_S:
            cancelled = _count(await self._scripts.run("sweep_names", token, _STEP))
            if cancelled < _STEP:
                self._names_at = time.monotonic()
        await self.sample(token)
        more = swept > 0 or extended >= _STEP
        await self._repair(token, 1 if more else _REPAIRS)
        return more

    async def sample(self, token: str) -> None:
        """Every ten seconds: note each queue's depth and oldest wait, and sum up what minutes have ended.

        One round trip fifty queues, and a few a span of ten minutes that is not summed up yet (48 at most) and a
        minute that the totals do not hold yet.
        """
        if time.monotonic() - self._sampled_at < _SAMPLE_EVERY_S:
            return
        self._sampled_at = time.monotonic()
        with translating():
            names = sorted(await cast(Awaitable[set[bytes]], self._client.smembers(self._keys.queues)))
        for first in range(0, len(names), _SAMPLE_STEP):
            await self._scripts.run("sample", token, *names[first : first + _SAMPLE_STEP])
        await self._rollup.run_once(token)
        await self._fold.run_once(token)

    async def _repair(self, token: str, calls: int) -> None:
        if not self._queues:
            with translating():
                names = await cast(Awaitable[set[bytes]], self._client.smembers(self._keys.queues))
            self._queues = sorted(map(codec.name, names))
            self._resume_from = ""
            if not self._queues:
                return
        for _ in range(calls):
            reply = await self._scripts.run("sweep_queues", token, self._resume_from, *self._queues[:_REPAIRED])
            if reply == b"NOT_LEADER":
                return
            done, resume_from = reply
            del self._queues[:done]
            self._resume_from = codec.name(resume_from)
            if not self._queues:
                return


def _count(reply: Any) -> int:
    return 0 if reply == b"NOT_LEADER" else int(reply)
