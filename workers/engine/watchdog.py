"""Notices, from outside, that the loop has stopped turning, and says what holds it."""

from __future__ import annotations

import asyncio
import sys
import time
import traceback
from collections.abc import Callable

import structlog

from workers.engine.execution import Execution

log = structlog.get_logger(__name__)

TICK_S = 0.25
MAX_NAMED = 3


class LoopClock:
    """Ticks on the loop; read from anywhere."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Callable[[], float] = time.monotonic) -> None:
        self._loop = loop
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None
        self.last_tick = clock()

    def start(self) -> None:
        """Tick until ``stop``."""
        self.last_tick = self._clock()
        self._timer = self._loop.call_later(TICK_S, self.start)

    def stop(self) -> None:
        """Tick no more."""
        if self._timer is not None:
            self._timer.cancel()


class Watchdog:
    """Warns when a handler blocks the loop: at ``limit_s`` seconds, then each time the wait has doubled.

    ``on_stuck`` is called at each look but the first meanwhile: a process that was frozen as a whole looks stuck once.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        loop_thread: int,
        ticks: LoopClock,
        leased: dict[str, Execution],
        limit_s: float,
        clock: Callable[[], float] = time.monotonic,
        on_stuck: Callable[[], None] | None = None,
    ) -> None:
        self._loop = loop
        self._loop_thread = loop_thread
        self._on_stuck = on_stuck
        self._ticks = ticks
        self._leased = leased
        self._limit_s = limit_s
        self._clock = clock
        self._warn_at_s = limit_s
        self._was_stuck = False

    def run_once(self) -> None:
        """Look once; call it about once a second, never on the loop."""
        stuck_s = self._clock() - self._ticks.last_tick
        if stuck_s < self._limit_s:
            self._warn_at_s = self._limit_s
            self._was_stuck = False
            return
        if stuck_s >= self._warn_at_s:
            self._warn_at_s = stuck_s * 2
            log.warning("LOOP_BLOCKED", seconds=round(stuck_s, 1), tasks=self._suspects(), at=self._where())
        if self._was_stuck and self._on_stuck is not None:
            self._on_stuck()
        self._was_stuck = True

    def _suspects(self) -> list[str]:
        """The task whose step is running; when that is none of ours, some of those that could be."""
        executions = [e for e in self._leased.copy().values() if e.task is not None and not e.ended]
        current = asyncio.current_task(self._loop)
        guilty = [e for e in executions if e.task is current] or executions[:MAX_NAMED]
        return [f"{e.claimed.task_type} {e.claimed.id}" for e in guilty]

    def _where(self) -> str:
        frame = sys._current_frames().get(self._loop_thread)
        if frame is None:
            return "?"
        innermost = traceback.extract_stack(frame, limit=1)[-1]
        return f"{innermost.filename}:{innermost.lineno} in {innermost.name}"
