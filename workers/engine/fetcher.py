"""Fills free slots: first with what expired leases left behind, then from the streams; waits when both are empty."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import structlog

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.store.leases import MAX_CLAIM, Absorbed, Claimed, ClaimReply, Leases
from tasks_app.store.presence import Fetching
from workers.engine.execution import Slots
from workers.engine.executor import Executor
from workers.engine.reaper import Reaper

log = structlog.get_logger(__name__)

MAX_NAMED = 5
MOST_AT_BELL = 10
"""Tasks that a waiting claim takes at most: it is carried out for a worker that has frozen while it waited, too."""
LEAVE_S = 1.0
"""How long a worker that is to stop takes to get the answer to its waiting claim."""


class Fetcher:
    """The only one that takes slots, so that claims and re-adoptions never promise one twice.

    ``announce`` is told of tasks before they start. ``unstarted``: those (id, attempt) whose claim was answered only
    after the signal to stop.
    """

    def __init__(
        self,
        leases: Leases,
        worker_id: str,
        queues: tuple[str, ...],
        slots: Slots,
        executor: Executor,
        reaper: Reaper,
        stop: asyncio.Event,
        announce: Callable[[Sequence[Claimed]], None],
    ) -> None:
        self._leases = leases
        self._worker_id = worker_id
        self._queues = queues
        self._slots = slots
        self._executor = executor
        self._reaper = reaper
        self._stop = stop
        self._announce = announce
        self.unstarted: list[tuple[str, int]] = []
        self._turned_at = self._idle_since = time.monotonic()
        self._more = True  # the last claim may have left something, so the next does not wait for a bell
        self._at_bell: asyncio.Timeout | None = None
        self._leaver: asyncio.Task[None] | None = None
        self._failed = False
        # Half of the slots at a time: one half runs here while Redis fetches the other, so neither waits for the other.
        self._most = min(MAX_CLAIM, (slots.concurrency + 1) // 2)

    @property
    def fetching(self) -> Fetching:
        """How this loop does; from any thread."""
        now = time.monotonic()
        return Fetching(round((now - self._turned_at) * 1000), round((now - self._idle_since) * 1000))

    async def run_once(self) -> None:
        """Reap if it is time, claim as much as there is room for, or wait for room or for work."""
        self._turned_at = time.monotonic()
        try:
            await self._turn()
        except StoreUnavailable:
            self._failed = True
            self._idle_since = time.monotonic()
            raise

    async def _turn(self) -> None:
        free = self._slots.free
        if not self._failed and self._reaper.due_in(free) <= 0:
            self._take(await self._reaper.run_once(min(free, MAX_CLAIM)))
            if self._stop.is_set():
                return
            free = self._slots.free
        if not free and not self._failed:
            await self._slots.wait(max(0.01, self._reaper.due_in(0)))
            self._idle_since = time.monotonic()
            return
        limit = min(free, self._most)  # 0 only after a failure: then it asks no more than whether Redis is back
        if self._failed or self._more:
            rung, reply = False, await self._leases.claim(self._worker_id, self._queues, limit)
        else:
            # Until the reaper's next look: then the streams are looked at as well, whether or not a bell was heard.
            limit = min(limit, MOST_AT_BELL)
            rung, reply = await self._claim_at_bell(limit, max(0.01, self._reaper.due_in(1)))
        if self._failed:  # the first answer after an outage: those that live renew before anybody reaps
            self._failed = False
            self._reaper.postpone()
        self._take(reply)
        self._more = len(reply.tasks) == limit or bool(reply.absorbed)
        if rung:
            if not reply.tasks:
                self._reaper.hurry()
            await asyncio.sleep(0)  # an idle worker starts a task first and asks for the next one then

    async def _claim_at_bell(self, limit: int, timeout_s: float) -> tuple[bool, ClaimReply]:
        if self._leaver is None:
            self._leaver = asyncio.create_task(self._leave_bell_at_stop())
        try:
            async with asyncio.timeout(None) as self._at_bell:
                return await self._leases.claim_at_bell(self._worker_id, self._queues, limit, timeout_s)
        except TimeoutError:
            return False, ClaimReply()  # what it may have leased waits for its lease to run out
        finally:
            self._at_bell = None

    async def _leave_bell_at_stop(self) -> None:
        """Get the waiting answer then: the server may have leased tasks already, which nobody would give back."""
        await self._stop.wait()
        if self._at_bell is None:
            return
        self._at_bell.reschedule(asyncio.get_running_loop().time() + LEAVE_S)
        try:
            await self._leases.leave_bell(self._worker_id)
        except StoreUnavailable as error:
            log.warning("BELL_NOT_LEFT", error=str(error))

    def _take(self, reply: ClaimReply) -> None:
        if reply.absorbed:
            _log_absorbed(reply.absorbed)
        if not reply.tasks:
            return
        self._idle_since = time.monotonic()
        if self._stop.is_set():  # the answer came after the signal: these must not start
            self.unstarted += [(task.id, task.attempt) for task in reply.tasks]
        else:
            self._announce(reply.tasks)
            self._executor.start(reply.tasks)


def _log_absorbed(entries: Sequence[Absorbed]) -> None:
    """One line for each reason, however many entries."""
    by_reason: dict[str, list[str]] = {}
    for entry in entries:
        by_reason.setdefault(entry.reason, []).append(entry.task_id)
    for reason, ids in by_reason.items():
        event = "TASK_DUPLICATE_ABSORBED" if reason == "duplicate" else "TASK_ABSORBED"
        log.info(event, reason=reason, tasks=len(ids), some=ids[:MAX_NAMED])
