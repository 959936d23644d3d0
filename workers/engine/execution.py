"""One attempt under way, and the two tables that count them."""

from __future__ import annotations

import asyncio
from enum import Enum

from tasks_app.domain.redaction import NOTHING_HIDDEN, PayloadMask
from tasks_app.handlers import Handler, TaskContext
from tasks_app.store.leases import Claimed


class Stop(Enum):
    """Why a handler is told to stop before it has returned."""

    TIMEOUT = "timeout"
    CANCEL = "cancel"
    LOST = "lost"
    GIVEN_BACK = "given_back"


class Execution:
    """A claimed attempt from its start until its handler has returned *and* its outcome has been committed.

    ``entered``: the handler's own code may have begun. ``ended``: the attempt has its outcome, or none any more; what
    the handler does from then on counts for nothing. Both are only touched on the loop.
    """

    __slots__ = ("claimed", "context", "ended", "entered", "handler", "mask", "stop", "task", "timer")

    def __init__(
        self,
        claimed: Claimed,
        handler: Handler | None,
        context: TaskContext,
        mask: PayloadMask = NOTHING_HIDDEN,
    ) -> None:
        self.claimed = claimed
        self.mask = mask
        self.handler = handler
        self.context = context
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.entered = False
        self.ended = False
        self.stop: Stop | None = None

    def disarm(self) -> None:
        """Forget the timer."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class Slots:
    """How many more attempts may start. ``occupied``: handlers not returned yet; ``uncommitted``: outcomes waiting.

    A slot is free again when its handler has returned, so claiming overlaps with committing; outcomes that Redis has
    not accepted yet are held to twice the concurrency, so a Redis that is slow or gone stops the claiming.
    """

    def __init__(self, concurrency: int) -> None:
        self.concurrency = concurrency
        self.occupied = 0
        self.uncommitted = 0
        self._changed = asyncio.Event()

    @property
    def free(self) -> int:
        """Attempts that may be claimed now."""
        busy = self.occupied
        return max(0, min(self.concurrency - busy, 2 * self.concurrency - busy - self.uncommitted))

    def take(self) -> None:
        """A handler starts."""
        self.occupied += 1

    def release(self) -> None:
        """A handler has returned."""
        self.occupied -= 1
        self._changed.set()

    def committed(self, count: int) -> None:
        """Redis has accepted ``count`` outcomes."""
        self.uncommitted -= count
        self._changed.set()

    def wake(self) -> None:
        """Make whoever waits look again."""
        self._changed.set()

    async def wait(self, timeout_s: float) -> None:
        """Wait until a slot may have become free, ``timeout_s`` at most."""
        self._changed.clear()
        if self.free:
            return
        timer = asyncio.get_running_loop().call_later(timeout_s, self._changed.set)
        try:
            await self._changed.wait()
        finally:
            timer.cancel()
