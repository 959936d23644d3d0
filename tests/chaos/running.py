"""What code of a simulated process runs on: an event loop, and strands for code that blocks. Both stand still by
themselves: the simulator gives them their turns.
"""

from __future__ import annotations

import asyncio
import heapq
from asyncio import events
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import greenlet

from tests.chaos.clock import Clock


class Killed(BaseException):
    """Goes through a coroutine that is to do nothing more, and past every handler of errors in it."""


class _NoFiles:
    """A selector for loops that have neither sockets nor pipes."""

    def select(self, timeout: float | None) -> list[Any]:
        return []

    def close(self) -> None:
        """There is nothing to close."""


class StandingLoop(asyncio.BaseEventLoop):
    """A loop that never waits: ``turn`` runs what is ready or due, and returns."""

    _ready: Any
    _scheduled: Any
    _run_once: Callable[[], None]
    _timer_cancelled_count: int

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._selector = _NoFiles()

    def time(self) -> float:
        return self._clock.now

    def _process_events(self, event_list: list[Any]) -> None:
        """No file has any."""

    def _write_to_self(self) -> None:
        """Nobody sleeps who would have to be woken."""

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """What goes to a thread is done at once: no thread may run beside the simulator."""
        future = self.create_future()
        future.set_result(func(*args))
        return future

    @property
    def next_timer(self) -> float | None:
        """When the first timer is due, in seconds of ``time``."""
        timers = self._scheduled
        while timers and timers[0]._cancelled:
            self._timer_cancelled_count -= 1
            heapq.heappop(timers)._scheduled = False
        return timers[0]._when if timers else None

    @property
    def ready(self) -> bool:
        """True when a callback can run now."""
        timers = self._scheduled
        return bool(self._ready) or bool(timers and timers[0]._when <= self._clock.now)

    def turn(self) -> None:
        """Run callbacks until none is ready."""
        events._set_running_loop(self)
        try:
            while self.ready:
                self._run_once()
        finally:
            events._set_running_loop(None)

    def throw_away(self) -> None:
        """End as a killed process does: nothing that is under way goes on."""
        closed: set[asyncio.Task[Any]] = set()
        while rest := asyncio.all_tasks(self) - closed:  # code that cleans up may start more
            closed |= rest
            for task in rest:
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                coroutine: Any = task.get_coro()
                with suppress(Killed, StopIteration):
                    while True:  # code that awaits while it cleans up is killed again there
                        coroutine.throw(Killed())
        self.close()


class Strand(greenlet.greenlet):  # type: ignore[misc]
    """Code that blocks. It gives up its turn by ``wait_until`` and ``receive`` and goes on when it is told to."""

    def __init__(self, function: Callable[[], None], on_error: Callable[[BaseException], None]) -> None:
        super().__init__()
        self._function = function
        self._on_error = on_error
        self.wake_at: float | None = 0.0
        self._reply: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._function()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told
            self._on_error(error)

    @classmethod
    def current(cls) -> Strand:
        strand = greenlet.getcurrent()
        assert isinstance(strand, Strand), "only code on a strand may block"
        return strand

    def wait_until(self, moment_s: float | None) -> None:
        """Give up the turn until then, or until ``wake``."""
        self.wake_at = moment_s
        assert self.parent is not None
        self.parent.switch()

    def receive(self) -> Any:
        """Give up the turn until there is a reply; returns or raises it."""
        self.wait_until(None)
        reply, error, self._reply, self._error = self._reply, self._error, None, None
        if error is not None:
            raise error
        return reply

    def reply(self, reply: Any, error: BaseException | None) -> None:
        self._reply, self._error = reply, error
        self.wake()

    def wake(self) -> None:
        self.wake_at = 0.0

    def turn(self) -> None:
        self.wake_at = None
        self.switch()

    def throw_away(self) -> None:
        if not self.dead:
            self._function = lambda: None
            self.throw(greenlet.GreenletExit)
