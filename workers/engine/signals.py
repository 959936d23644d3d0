"""SIGTERM and SIGINT, which count also while a handler blocks the loop."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

import structlog

log = structlog.get_logger(__name__)


class StopSignals:
    """Hands every signal to ``stop`` on the loop, and ends the process when the loop does not get to it in time.

    The loop's own signal handling would wait for the handler that blocks the loop; Python's does not.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, stop: Callable[[], None], drain_timeout_s: float) -> None:
        self._loop = loop
        self._stop = stop
        self._drain_timeout_s = drain_timeout_s
        self._deadline = math.inf

    def install(self) -> None:
        """From now on; in the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._received)

    def _received(self, _number: int, _frame: FrameType | None) -> None:
        patience_s = self._drain_timeout_s if self._deadline == math.inf else 0.0  # the second one stops at once
        self._deadline = time.monotonic() + patience_s
        self._loop.call_soon_threadsafe(self._stop)

    def enforce(self) -> None:
        """For another thread that has seen the loop stand still: end the process (status 0) if its time is over.

        What it ran is not given back: its leases run out.
        """
        if time.monotonic() >= self._deadline:
            log.error(
                "STOPPED_BY_FORCE", note="a handler blocks the loop, so its tasks wait for their leases to run out"
            )
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
