"""What grows when something leaks: resident memory, connections, what the server holds; taken every few seconds."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field

import redis

from tests.benchmarks.stage import process_rss_mb
from tests.soak.installation import Installation
from tests.soak.weights import weigh
from tests.support.keyspace import documented

EVERY_S = 5.0
WARM_UP = 0.25
"""The share of a life in which caches and pools fill."""
WINDOW = 0.15
"""The share of a life whose median is compared: just after the warm-up, and at the end."""
TOLERATED_SHARE = 0.10
TOLERATED_MB = 8.0
"""More resident memory, of a process."""
CONNECTIONS = "connections"
RECORDS = "server: records of tasks"
OF_TASKS = "server: keys of tasks, KB a record"
MINUTE = "server: heaviest minute of statistics, KB"
AUDIT = "server: audit, KB an entry"
KEPT = "server: other keys that stay, MB"
USED = "server: all of it, MB"
SETTLED_S = 600.0
"""In a shorter run records still gather while their retention lasts, so all of it cannot be flat."""
OF_ROW = "server: of it"
WORTH_TELLING_MB = 0.1
EXPIRED = "server: expired keys still there"
BEYOND = "server: beyond its keys, MB"
TOLERATED = {
    CONNECTIONS: 4,
    RECORDS: math.inf,  # as many as were submitted within their retention
    OF_TASKS: 0.5,  # large payloads are a third of it, one task in two hundred, and so a matter of chance
    MINUTE: 8.0,  # 480 of them are kept
    AUDIT: 0.1,  # 100,000 of them are kept
    KEPT: 1.0,
    EXPIRED: 1000,  # the server itself lets a tenth of them be
    BEYOND: 2.0,  # the buffers of clients that are frozen or slow
}


@dataclass(frozen=True)
class Growth:
    """A measure after its warm-up and at the end. ``per_hour`` is what the difference would come to."""

    name: str
    after_warm_up: float
    at_the_end: float
    per_hour: float
    highest: float
    allowed: float

    @property
    def flat(self) -> bool:
        return self.at_the_end <= self.allowed


@dataclass
class Samples:
    """Series by name: ``(seconds, value)``. ``weigh_every_s``: what the server holds is looked at no oftener."""

    series: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    weigh_every_s: float = 60.0
    _weigh_at: float = 0.0

    def take(self, now: float, installation: Installation, client: redis.Redis) -> None:
        """Look once. Processes that end meanwhile and a server that is away are left out."""
        for name, pid in installation.watched().items():
            try:
                self._add(f"RSS of {name}, MB", now, process_rss_mb(pid))
            except FileNotFoundError:
                continue
        if not installation.server_is_up:
            return
        self._add(CONNECTIONS, now, client.info("clients")["connected_clients"])
        if now >= self._weigh_at:
            self._weigh_at = now + self.weigh_every_s
            weights = weigh(client)
            self._add(RECORDS, now, weights.records)
            self._add(OF_TASKS, now, weights.of_tasks / 1e3 / max(1, weights.records))
            self._add(MINUTE, now, weights.minute / 1e3)
            self._add(AUDIT, now, weights.audit_entry / 1e3)
            self._add(KEPT, now, weights.kept / 1e6)
            self._add(EXPIRED, now, weights.expired)
            self._add(USED, now, weights.used / 1e6)
            for row in documented():
                self._add(f"{OF_ROW} `{row.name}`, MB", now, weights.by_row.get(row.name, 0) / 1e6)
            self._add(BEYOND, now, weights.beyond / 1e6)

    def growth(self, ran_s: float) -> list[Growth]:
        """What was there for most of the run, after its warm-up and at the end."""
        found = []
        for name, values in sorted(self.series.items()):
            told_only = name.startswith(OF_ROW) or (name == USED and ran_s < SETTLED_S)
            if values[-1][0] - values[0][0] < ran_s * 0.5 or (told_only and values[-1][1] < WORTH_TELLING_MB):
                continue
            first = _median(values, WARM_UP, WARM_UP + WINDOW)
            last = _median(values, 1 - WINDOW, 1.0)
            found.append(
                Growth(
                    name,
                    first,
                    last,
                    (last - first) / ((values[-1][0] - values[0][0]) * (1 - WARM_UP - WINDOW)) * 3600,
                    max(value for _, value in values),
                    math.inf if told_only else first + max(first * TOLERATED_SHARE, TOLERATED.get(name, TOLERATED_MB)),
                )
            )
        return found

    def _add(self, name: str, now: float, value: float) -> None:
        self.series.setdefault(name, []).append((now, float(value)))


def _median(values: list[tuple[float, float]], since: float, until: float) -> float:
    start, end = values[0][0], values[-1][0]
    low, high = start + (end - start) * since, start + (end - start) * until
    return statistics.median(value for at, value in values if low <= at <= high)
