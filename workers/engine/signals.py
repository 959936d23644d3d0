"""SIGTERM and SIGINT, and the end of a drain, which count also while a handler blocks the loop."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import structlog

log = structlog.get_logger(__name__)

_STOPPING = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def left_to_this_thread() -> Iterator[None]:
    """Threads started meanwhile take no signal to stop.

    Two that come together may both go to another thread: Python acts on them in the main one only, and would not
    interrupt what that one waits for.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class StopSignals:
    """Hands every signal to ``stop`` on the loop, and ends the process when the loop does not get to it in time.

    The loop's own signal handling would wait for the handler that blocks the loop; Python's does not.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, stop: Callable[[], None], drain_timeout_s: float) -> None:
        self._loop = loop
        self._stop = stop
        self._drain_timeout_s = drain_timeout_s
        self._deadline = math.inf
        self._signalled = False
        self._at_once = False

    def install(self) -> None:
        """From now on; in the main thread."""
        for number in _STOPPING:
            signal.signal(number, self._received)

    def _received(self, _number: int, _frame: FrameType | None) -> None:
        if self._signalled:
            self._at_once = True  # a flag of its own: the second one may come while the first sets the deadline
        else:
            self._signalled = True
            self.expect_end()
        self._loop.call_soon_threadsafe(self._stop)

    def expect_end(self) -> None:
        """The worker is to stop, by a signal or otherwise: its time to drain runs from now, or runs already."""
        self._deadline = min(self._deadline, time.monotonic() + self._drain_timeout_s)

    def enforce(self) -> None:
        """For another thread that has seen the loop stand still: end the process (status 0) if its time is over.

        What it ran is not given back: its leases run out.
        """
        if self._at_once or time.monotonic() >= self._deadline:
            log.error(
                "STOPPED_BY_FORCE", note="a handler blocks the loop, so its tasks wait for their leases to run out"
            )
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
