"""What befalls the installation: workers killed, frozen and told to stop, the server restarted."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from functools import partial

from tests.soak.installation import LEASE_S, STEADY, Installation

SHORT_FREEZE_S = LEASE_S / 3
LONG_FREEZE_S = LEASE_S * 1.5
"""Longer than a lease: others take the frozen worker's tasks, and it must notice when it thaws."""


class Chaos:
    """Strikes about every ``every_s``; the server at each of ``restarts``, one web process at ``web_at``.

    Times are seconds from the start. ``run_once`` belongs in the main thread, to which a started server is bound.
    """

    def __init__(
        self,
        installation: Installation,
        rng: random.Random,
        *,
        every_s: float,
        restarts: tuple[float, ...],
        web_at: float | None,
    ) -> None:
        self._installation, self._rng, self._every_s = installation, rng, every_s
        self._plans: list[tuple[float, Callable[[float], None]]] = [(every_s, self._strike)]
        self._plans += [(at, partial(self._take_server, bool(i % 2))) for i, at in enumerate(restarts)]
        if web_at is not None:
            self._plans.append((web_at, self._kill_web))

    def run_once(self, now: float) -> None:
        """Do what is due ``now``."""
        due = [plan for plan in self._plans if plan[0] <= now]
        self._plans = [plan for plan in self._plans if plan[0] > now]
        for _, act in due:
            act(now)

    def end(self, now: float) -> None:
        """Nothing new befalls; what is frozen thaws, and the server is up, when this returns."""
        self._plans = [(0.0, act) for _, act in self._plans if isinstance(act, partial) and act.func == self._thaw]
        self.run_once(now)
        if not self._installation.server_is_up:
            self._installation.bring_server_back()

    def _strike(self, now: float) -> None:
        self._plans.append((now + self._rng.uniform(0.5, 1.5) * self._every_s, self._strike))
        what = self._rng.choices(("kill", "term", "short", "long"), (40, 25, 15, 20))[0]
        if what in {"kill", "term"}:
            name = self._rng.choice(("worker 2", "worker 3", "worker 2", "worker 3", "scheduler"))
            self._installation.strike(name, signal.SIGKILL if what == "kill" else signal.SIGTERM)
            return
        name = self._rng.choice((STEADY, "worker 2", "worker 3", "scheduler"))
        if (pid := self._installation.strike(name, signal.SIGSTOP)) is not None:
            lasts = SHORT_FREEZE_S if what == "short" else LONG_FREEZE_S
            self._plans.append((now + lasts, partial(self._thaw, name, pid)))

    def _thaw(self, name: str, pid: int, now: float) -> None:
        if self._installation.pid(name) == pid:
            self._installation.strike(name, signal.SIGCONT)

    def _take_server(self, kill: bool, now: float) -> None:
        self._installation.take_server_away(kill=kill)
        self._plans.append((now + self._rng.uniform(0.5, 3), self._return_server))

    def _return_server(self, now: float) -> None:
        self._installation.bring_server_back()

    def _kill_web(self, now: float) -> None:
        self._installation.kill_web(self._rng.choice(self._installation.web_children()))
