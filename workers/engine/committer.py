"""Writes outcomes to the store: everything that has ended, in one call, until it is accepted."""

from __future__ import annotations

import asyncio

import structlog

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.domain.status import TaskStatus
from tasks_app.store.leases import LEASE_LOST, MAX_FINISH, Finish, Leases
from workers.engine.execution import Execution, Slots
from workers.engine.notes import NoteBook

log = structlog.get_logger(__name__)

MAX_NAMED = 5
MAX_BATCH_CHARS = 4_000_000
_NOT_A_FAILURE = frozenset({TaskStatus.SUCCEEDED.value, TaskStatus.CANCELLED.value, LEASE_LOST})


class Committer:
    """Holds outcomes until Redis has accepted them. An idle system commits at once; while one call is under way, what
    ends meanwhile gathers for the next, so the batches grow with the load and no timer delays anything.
    """

    def __init__(
        self, leases: Leases, worker_id: str, slots: Slots, notes: NoteBook, leased: dict[str, Execution]
    ) -> None:
        self._leases = leases
        self._worker_id = worker_id
        self._slots = slots
        self._notes = notes
        self._leased = leased
        self._waiting: list[tuple[Execution, Finish]] = []
        self._some = asyncio.Event()
        self.processed = 0
        self.failed = 0

    @property
    def empty(self) -> bool:
        """True when every outcome has been accepted."""
        return not self._waiting

    def add(self, execution: Execution, finish: Finish) -> None:
        """Take an outcome in. On the loop only."""
        self._waiting.append((execution, finish))
        self._slots.uncommitted += 1
        self._some.set()

    async def run_once(self) -> None:
        """Wait for an outcome, then commit what there is."""
        await self._some.wait()
        await self.flush()

    async def flush(self) -> None:
        """Commit one batch.

        Raises:
            StoreUnavailable: nothing is known to be written; the outcomes are kept and the next call tries again.
                What Redis had accepted without being able to say so answers ``LEASE_LOST`` then, and changes nothing.
        """
        batch = self._next_batch()
        if batch:
            await self._notes.flush()  # while the attempts are still running: later their notes would be refused
            await self._commit(batch)
        if not self._waiting:
            self._some.clear()

    async def last_flush(self) -> None:
        """Commit what still waits, once nobody else flushes: Redis may be back since the loop began to wait."""
        try:
            while self._waiting:
                await self.flush()
        except StoreUnavailable:
            log.warning("OUTCOMES_NOT_WRITTEN", tasks=len(self._waiting))  # their leases run out, and they run again

    def _next_batch(self) -> list[tuple[Execution, Finish]]:
        batch = self._waiting[:MAX_FINISH]
        chars = 0
        for index, (_, finish) in enumerate(batch):
            chars += len(finish.result_json) + len(finish.traceback)
            if chars > MAX_BATCH_CHARS:
                return batch[: index + 1]
        return batch

    async def _commit(self, batch: list[tuple[Execution, Finish]]) -> None:
        try:
            replies = await self._leases.finish(self._worker_id, [finish for _, finish in batch])
        except StoreUnavailable:
            raise
        except Exception:
            if len(batch) == 1:
                # No retry helps against a bug of ours. Given up, the lease runs out and the task runs again somewhere,
                # until its attempts are used up; kept, it would hold up every outcome behind it.
                log.exception("OUTCOME_DROPPED", task_id=batch[0][1].task_id)
                self._accepted(batch, [LEASE_LOST])
                return
            log.exception("BATCH_REFUSED", outcomes=len(batch))
            for item in batch:
                await self._commit([item])
            return
        self._accepted(batch, replies)

    def _accepted(self, batch: list[tuple[Execution, Finish]], replies: list[str]) -> None:
        leased = self._leased
        lost = []
        for (execution, finish), reply in zip(batch, replies, strict=True):
            if leased.get(finish.task_id) is execution:
                del leased[finish.task_id]
            if reply == LEASE_LOST:
                lost.append((finish.task_id, finish.attempt))
            elif reply not in _NOT_A_FAILURE:
                self.failed += 1
        self.processed += len(batch) - len(lost)
        del self._waiting[: len(batch)]
        self._slots.committed(len(batch))
        log_lost(lost)


def log_lost(attempts: list[tuple[str, int]]) -> None:
    """One line, however many attempts (id, number) no longer belong to this worker."""
    if attempts:
        log.warning("TASK_LEASE_LOST", tasks=len(attempts), some=[f"{i} attempt {n}" for i, n in attempts[:MAX_NAMED]])
