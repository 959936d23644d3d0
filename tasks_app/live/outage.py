"""Redis being away, in the log: one line a second at most, however many requests are refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import structlog
from django.http import HttpResponseBase

log = structlog.get_logger(__name__)

LINE_EVERY_S = 1.0


class OutageLog:
    """Counts refused requests between its lines. One per process, for all its threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._refused = 0
        self._next_line = float("-inf")

    def refused(self, path: str, error: Exception) -> None:
        """A request for ``path`` could not be served because of ``error``."""
        with self._lock:
            self._refused += 1
            now = self._clock()
            if now < self._next_line:
                return
            self._next_line = now + LINE_EVERY_S
            refused, self._refused = self._refused, 0
        log.warning("REDIS_UNAVAILABLE", path=path, error=str(error), refused=refused)


outage_log = OutageLog()
"""This process's: of requests to the API and to the console alike."""


def keep_out_of_djangos_log(response: HttpResponseBase) -> None:
    """Let Django log nothing of ``response``: it would make each 503 an error, a flood while Redis is away."""
    response._has_been_logged = True  # type: ignore[attr-defined]  # what Django itself sets once it has logged
