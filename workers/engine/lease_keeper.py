"""The thread that a blocked loop does not stop: renews leases, beats the heart, watches the loop.

What stops even this thread is the guard's business (``guard.py``).
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence

import structlog

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.domain.wish import Wish
from tasks_app.store.presence import Heartbeat, Presence, Renewal
from workers.engine.backoff import Backoff
from workers.engine.execution import Execution
from workers.engine.guard import LeaseGuard
from workers.engine.outage import Outage
from workers.engine.watchdog import Watchdog

log = structlog.get_logger(__name__)

RENEW_EVERY_S = 1.0
MAX_RENEWALS_PER_CALL = 500
LONGEST_BACKOFF_S = 0.5  # short: after an outage leases have to be renewed before anybody reaps them


class LeaseKeeper(threading.Thread):
    """Runs until ``stop``; whatever goes wrong in a step, the next one is taken.

    ``on_renewal`` gets what the store said about the leases, ``on_wish`` with each beat what operators want; both must
    hand it to the loop themselves. ``leased`` is the executor's table; it is only ever copied here, which is one step
    for the interpreter.
    """

    def __init__(
        self,
        presence: Presence,
        worker_id: str,
        leased: dict[str, Execution],
        *,
        lease_s: float,
        heartbeat_every_s: float,
        beat: Callable[[], Heartbeat],
        on_renewal: Callable[[Renewal, Sequence[tuple[str, int]]], None],
        on_wish: Callable[[Wish | None], None],
        watchdog: Watchdog,
        outage: Outage,
        rng: random.Random,
        guard: LeaseGuard | None = None,
    ) -> None:
        super().__init__(name="dtq-lease-keeper", daemon=True)
        self._presence = presence
        self._worker_id = worker_id
        self._leased = leased
        self._renew_every_s = min(RENEW_EVERY_S, lease_s / 4)
        self._heartbeat_every_s = heartbeat_every_s
        self._beat = beat
        self._on_renewal = on_renewal
        self._on_wish = on_wish
        self._watchdog = watchdog
        self._outage = outage
        self._guard = guard
        self._backoff = Backoff(rng, LONGEST_BACKOFF_S)
        self._leave = False
        self._stop_asked = threading.Event()
        self._renew_at = 0.0
        self._beat_at = 0.0

    def run(self) -> None:
        """The thread: a step, a wait, and so on."""
        while not self._stop_asked.is_set():
            self._stop_asked.wait(self._guarded_step())
        if self._guard is not None:
            self._guard.close()
        if self._leave:
            try:
                self._presence.leave(self._worker_id)
            except StoreUnavailable as error:
                log.warning("LEAVE_NOT_RECORDED", error=str(error))  # the record ends by itself when its beats stop

    def _guarded_step(self) -> float:
        """One step; seconds until the next."""
        now = time.monotonic()
        try:
            self._watchdog.run_once()
            if self._guard is not None:
                self._guard.keep_up(now)
            self.run_once(now)
        except StoreUnavailable as error:
            delay = self._backoff.next_s()
            self._outage.failed("lease keeper", error, retry_in_s=delay)
            return delay
        except Exception:
            log.exception("LOOP_STEP_FAILED", loop="lease keeper")
            return self._renew_every_s
        self._outage.worked("lease keeper")
        self._backoff.reset()
        return max(0.0, min(self._renew_at, self._beat_at) - time.monotonic())

    def run_once(self, now: float) -> None:
        """Renew everything leased, and beat, each when it is time. ``now`` is this host's monotonic clock.

        Raises:
            StoreUnavailable: try again soon.
        """
        if now >= self._renew_at:
            self._renew()
            self._renew_at = now + self._renew_every_s
        if now >= self._beat_at:
            self._beat_at = now + self._heartbeat_every_s  # first, so that a beat_soon from now on means one more
            beat = self._beat()
            try:
                self._on_wish(self._presence.heartbeat(beat))
            except Exception:
                self.beat_soon()
                raise
            if self._guard is not None:
                self._guard.beat(beat)

    def _renew(self) -> None:
        leased = self._leased.copy()
        if self._guard is not None:
            self._guard.alive([(e.claimed.id, e.claimed.attempt, e.claimed.task_type) for e in leased.values()])
        running = [(task_id, e.claimed.attempt) for task_id, e in leased.items()]
        for start in range(0, len(running), MAX_RENEWALS_PER_CALL):
            part = running[start : start + MAX_RENEWALS_PER_CALL]
            renewal = self._presence.renew(self._worker_id, part)
            if renewal.lost or renewal.cancel:
                self._on_renewal(renewal, part)

    def beat_soon(self) -> None:
        """Make the next step beat, so that a change of state shows within a second."""
        self._beat_at = 0.0

    def stop(self, *, leave: bool) -> None:
        """End the thread; with ``leave`` it takes the worker off the list first."""
        self._leave = leave
        self._stop_asked.set()
