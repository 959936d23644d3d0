"""Re-adopts attempts whose worker has gone quiet."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from tasks_app.store.leases import ClaimReply, Leases

EVERY_S = 1.2
EVERY_WHEN_FULL_S = 5.0
AFTER_OUTAGE_S = 2.0
AGAIN_AFTER_S = 0.2
JITTER = 0.1


class Reaper:
    """Decides when to look for expired leases, and looks. Every worker has one; the fetcher drives it."""

    def __init__(
        self,
        leases: Leases,
        worker_id: str,
        queues: tuple[str, ...],
        rng: random.Random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._leases = leases
        self._worker_id = worker_id
        self._queues = queues
        self._rng = rng
        self._clock = clock
        self._looked_at = float("-inf")
        self._next = clock()
        self._not_before = self._next

    def due_in(self, free: int) -> float:
        """Seconds until the next look. With no slot free it only buries what has no attempts left: no hurry then."""
        late = 0 if free else EVERY_WHEN_FULL_S - EVERY_S
        return max(0.0, self._next + late - self._clock())

    def postpone(self) -> None:
        """Redis was away until now: let every worker that lives renew its leases before they count as expired."""
        self._next = self._not_before = self._clock() + AFTER_OUTAGE_S

    def hurry(self) -> None:
        """The doorbell rang and the streams were empty: perhaps a task was given back. Look soon, but not each time."""
        self._next = max(self._not_before, min(self._next, self._looked_at + AGAIN_AFTER_S))

    async def run_once(self, free: int) -> ClaimReply:
        """One look, for at most ``free`` tasks."""
        self._looked_at = self._clock()
        self._next = self._looked_at + EVERY_S * self._rng.uniform(1 - JITTER, 1 + JITTER)
        return await self._leases.reclaim(self._worker_id, self._queues, free)
