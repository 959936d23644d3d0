"""``manage.py demo``: believable traffic for a look around."""

from __future__ import annotations

import time
from argparse import ArgumentTypeError
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from tasks_app import runtime
from tasks_app.api.submitting import to_submission
from tasks_app.conf import config
from tasks_app.demo.traffic import Traffic
from tasks_app.domain.errors import DtqError, StoreUnavailable
from tasks_app.domain.snapshot import Actor
from tasks_app.store.commands import MAX_BULK

TICK_S = 0.1
REPORT_S = 10.0
RECONNECT_S = 2.0
ACTOR = Actor(name="demo", source="cli")


class Command(BaseCommand):
    """Plays the customers of a made-up shop until stopped."""

    help = "Send the traffic of a made-up shop: five queues, failures, retries, delays, cancels, repeated orders."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """The command's own arguments."""
        parser.add_argument("--rate", type=_positive, default=5.0, help="tasks a second, on average (default: 5)")
        parser.add_argument("--for", type=_positive, dest="seconds", help="stop after so many seconds (default: never)")

    def handle(self, *args: Any, rate: float, seconds: float | None, **options: Any) -> None:
        """Submit at about ``rate`` a second for ``seconds``, or until Ctrl-C."""
        if not config().loads_demo_tasks:
            raise CommandError("No worker would know the demo tasks: set DTQ_DEMO_TASKS=true here and for the workers.")
        self.stdout.write(
            f"Sending about {rate:g} tasks a second{f' for {seconds:g} s' if seconds else ''}; Ctrl-C ends."
        )
        run = _Run(Traffic(), rate)
        try:
            self._play(run, seconds)
        except KeyboardInterrupt:
            self.stdout.write("")
        self.stdout.write(run.summary())

    def _play(self, run: _Run, seconds: float | None) -> None:
        started = told = time.monotonic()
        while seconds is None or time.monotonic() - started < seconds:
            try:
                run.step(time.monotonic() - started)
            except StoreUnavailable as error:
                self.stderr.write(f"{error.message}; trying again")
                time.sleep(RECONNECT_S)
                run.skip(time.monotonic() - started)
            if time.monotonic() - told >= REPORT_S:
                told = time.monotonic()
                self.stdout.write(run.summary())
            time.sleep(TICK_S)


class _Run:
    """The traffic so far. ``step`` sends what has become due since the last one."""

    def __init__(self, traffic: Traffic, rate: float) -> None:
        self._traffic = traffic
        self._rate = rate
        self._last = 0.0
        self._due = 0.0
        self._counts: Counter[str] = Counter()

    def step(self, now: float) -> None:
        """Send the tasks due at ``now`` (seconds since the start) in one call, and perhaps cancel one."""
        self._due += (now - self._last) * self._traffic.rate_at(now, self._rate)
        self._last = now
        count = min(int(self._due), MAX_BULK)
        self._due -= count
        raws = [self._traffic.next() for _ in range(count)]
        outcomes = runtime.commands().submit_many([to_submission(raw) for raw in raws])
        for raw, outcome in zip(raws, outcomes, strict=True):
            if isinstance(outcome, DtqError):
                self._counts[outcome.code] += 1
            else:
                self._counts["duplicates" if outcome.duplicate else "accepted"] += 1
                self._traffic.accepted(raw, outcome.task.id)
        self._cancel()

    def skip(self, now: float) -> None:
        """Forget what was due while nobody could take it."""
        self._last = now

    def summary(self) -> str:
        """``accepted 120, duplicates 2, ...``."""
        return ", ".join(f"{name} {count}" for name, count in sorted(self._counts.items())) or "nothing sent"

    def _cancel(self) -> None:
        task_id = self._traffic.cancel()
        if task_id is None:
            return
        try:
            runtime.commands().cancel(task_id, ACTOR)
            self._counts["cancelled"] += 1
        except StoreUnavailable:
            raise
        except DtqError as refusal:
            self._counts[f"cancel: {refusal.code}"] += 1


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number <= 1_000_000:
        raise ArgumentTypeError("must be above 0")
    return number
