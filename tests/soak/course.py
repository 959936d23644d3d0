"""The course of one soak: start, load and blows, the end of every task, the end of their retention, the accounts."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

from tasks_app import runtime
from tasks_app.conf import config
from tasks_app.store.keys import Keys
from tests.benchmarks.stage import machine
from tests.soak import accounts, ledger, report
from tests.soak.accounts import Account
from tests.soak.book import Auditor, Book
from tests.soak.chaos import Chaos
from tests.soak.installation import Installation
from tests.soak.kinds import KINDS
from tests.soak.load import Load
from tests.soak.samples import EVERY_S, Samples
from tests.soak.watching import Audience
from tests.support.until import until

MOST_TO_END_S = 180.0
"""The longest that the last tasks may take to end: retries, leases and give-backs of the slowest kind."""
SWEEP_S = 90.0
"""The longest that sweeps may take to remove what belonged to tasks whose retention is over: names go once a minute."""
STRIKE_EVERY_S = 15.0
TICK_S = 0.1
FEW_KEYS = 400
"""Not before so few are left is each of them looked at."""


class Course:
    """Soaks ``installation``, which runs already, for ``seconds``."""

    def __init__(self, installation: Installation, seconds: float, rate: float, seed: int, retention_s: int) -> None:
        self._installation, self._seconds, self._retention_s = installation, seconds, retention_s
        self._command = f"python -m tests.soak --seconds {seconds:g} --rate {rate:g} --seed {seed}"
        self._client, self._queries = runtime.client(), runtime.queries()
        self._keys = Keys(config().key_prefix)
        self._book, self._audience = Book(), Audience(installation.port)
        self._samples = Samples(weigh_every_s=seconds / 30)
        self._load = Load(self._book, installation.port, installation.folder, rate, seed)
        self._auditor = Auditor(self._book, self._queries, self._load.requeue, self._load.cancel_later)
        self._chaos = Chaos(
            installation,
            random.Random(seed),
            every_s=min(STRIKE_EVERY_S, seconds / 8),
            restarts=(seconds * 0.4, seconds * 0.7),
            web_at=seconds * 0.55,
        )
        self._tick = threading.Event()  # never set: what the main thread waits at
        self._sample_at = 0.0
        self._began = 0.0

    def run(self) -> tuple[str, bool]:
        """The report, and whether every account balanced."""
        until(self._complete, timeout=60, what="three workers, a leader and the web")
        self._began = time.monotonic()
        for part in (self._audience, self._load, self._auditor):
            part.start()
        self._go_on(lambda: self._now >= self._seconds, self._seconds + 1, striking=True)
        self._load.stop()
        self._chaos.end(self._now)
        growths = self._samples.growth(self._now)
        self._load.close()
        self._go_on(lambda: self._book.open == 0, MOST_TO_END_S)
        ran_s = self._now
        held = [*self._quiet_accounts(), *self._afterwards()]
        self._audience.stop()
        self._auditor.stopping.set()
        about = machine(self._client)
        self._installation.stop()
        held += [
            Account("memory and connections flat", all(g.flat for g in growths), "see below"),
            *accounts.logs_are_calm(self._installation.logs(), ran_s),
            self._told_processes_left_well(),
            self._watching_went_on(),
        ]
        text = report.page(held, self._book, growths, self._installation.blows, about, self._command)
        return text, all(account.holds for account in held)

    @property
    def _now(self) -> float:
        return time.monotonic() - self._began

    def _complete(self) -> bool:
        return (
            len(self._queries.workers()) == 3
            and bool(self._queries.leader())
            and len(self._installation.web_children()) == 2
        )

    def _go_on(self, fact: Callable[[], bool], most_s: float, *, striking: bool = False) -> bool:
        """Keep everything up and look at it until ``fact`` holds; false when that took too long."""
        deadline = self._now + most_s
        while not fact():
            if self._now > deadline:
                return False
            if striking:
                self._chaos.run_once(self._now)
            self._installation.keep_up()
            if self._now >= self._sample_at:
                self._samples.take(self._now, self._installation, self._client)
                self._sample_at = self._now + EVERY_S
            for failure in (*self._load.failures, self._auditor.failure):
                if failure:
                    raise failure
            self._tick.wait(TICK_S)
        return True

    def _quiet_accounts(self) -> list[Account]:
        runs = ledger.read(self._installation.folder / "ledger")
        suicides = {task_id for task_id, entry in self._book.tasks.items() if KINDS[entry.kind].type == "soak.crash"}
        reasons = ledger.Reasons(self._installation.blows, runs, suicides)
        return [
            accounts.every_task_ended(self._book),
            accounts.answers_agree(self._book),
            accounts.effects(self._book, runs),
            accounts.duplicates(self._book, runs, reasons),
            accounts.own_figures(self._book, self._queries),
        ]

    def _afterwards(self) -> list[Account]:
        """What is left when the retention of the last task is over and the sweeps have passed."""
        gone = self._go_on(
            lambda: self._client.dbsize() < FEW_KEYS and not accounts.keys_left(self._client, self._keys)[0],
            self._retention_s + SWEEP_S,
        )
        bad, left = accounts.keys_left(self._client, self._keys)
        took = f"; {self._now:.0f} s after the start" if gone else ""
        return [
            Account("no key of any task left, every stream empty", not bad, accounts.saw_with(left + took, bad)),
            accounts.queue_is_consistent(self._client, self._keys),
        ]

    def _told_processes_left_well(self) -> Account:
        bad = self._installation.bad_exits
        return Account("every process that was told to stop ended with 0", not bad, accounts.saw_with("", bad))

    def _watching_went_on(self) -> Account:
        pages, streams = self._audience.pages, self._audience.streams
        saw = "pages: " + ", ".join(f"{count} x {answer}" for answer, count in sorted(pages.items()))
        saw += "; streams: " + ", ".join(f"{count} x {what}" for what, count in sorted(streams.items()))
        alive = bool(pages["200"] and streams["changed"]) and not self._audience.odd
        return Account("pages and event streams served throughout", alive, accounts.saw_with(saw, self._audience.odd))
