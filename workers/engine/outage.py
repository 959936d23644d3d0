"""What this process knows of Redis being away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import structlog

log = structlog.get_logger(__name__)

LINE_EVERY_S = 1.0


class Outage:
    """Shared by every loop and thread of one worker: remembers who cannot reach Redis, logs once a second at most."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failing: dict[str, float] = {}
        self._unlogged = 0
        self._next_line = 0.0

    @property
    def down(self) -> bool:
        """True while the last call of some loop has failed."""
        return bool(self._failing)

    def failed(self, loop: str, error: Exception, *, retry_in_s: float) -> None:
        """``loop`` got ``error`` instead of an answer."""
        with self._lock:
            now = self._clock()
            since = self._failing.setdefault(loop, now)
            self._unlogged += 1
            if now < self._next_line:
                return
            self._next_line = now + LINE_EVERY_S
            failures, self._unlogged = self._unlogged, 0
        log.warning(
            "REDIS_UNAVAILABLE",
            loop=loop,
            error=str(error),
            failures=failures,
            down_s=round(now - since, 1),
            retry_in_s=round(retry_in_s, 2),
        )

    def worked(self, loop: str) -> None:
        """``loop`` got an answer. Costs next to nothing while all is well."""
        if loop not in self._failing:
            return
        with self._lock:
            since = self._failing.pop(loop, None)
            if since is None or self._failing:
                return
            self._unlogged = 0
        log.info("REDIS_BACK", loop=loop, down_s=round(self._clock() - since, 1))
