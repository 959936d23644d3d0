"""What grows when something leaks: resident memory, connections, keys; taken every few seconds."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

import redis

from tests.benchmarks.stage import process_rss_mb
from tests.soak.installation import Installation

EVERY_S = 5.0
WARM_UP = 0.25
"""The share of a life in which caches and pools fill."""
WINDOW = 0.15
"""The share of a life whose median is compared: just after the warm-up, and at the end."""
TOLERATED_SHARE = 0.10
TOLERATED_MB = 8.0
TOLERATED_CONNECTIONS = 4
DATA = "server's data, MB"
SETTLED_S = 600.0
"""In a shorter run records still gather while their retention lasts, so the data cannot be flat."""


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
    """Series by name: ``(seconds, value)``."""

    series: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def take(self, now: float, installation: Installation, client: redis.Redis) -> None:
        """Look once. Processes that end meanwhile and a server that is away are left out."""
        for name, pid in installation.watched().items():
            try:
                self._add(f"RSS of {name}, MB", now, process_rss_mb(pid))
            except FileNotFoundError:
                continue
        if installation.server_is_up:
            info = client.info()
            self._add("connections", now, info["connected_clients"])
            self._add(DATA, now, info["used_memory"] / 1e6)
            self._add("keys", now, sum(space["keys"] for name, space in info.items() if name.startswith("db")))

    def growth(self, ran_s: float) -> list[Growth]:
        """Memory of what lived for most of the run, and connections, after their warm-up and at the end."""
        found = []
        for name, values in sorted(self.series.items()):
            if values[-1][0] - values[0][0] < ran_s * 0.5 or name == "keys" or (name == DATA and ran_s < SETTLED_S):
                continue
            first = _median(values, WARM_UP, WARM_UP + WINDOW)
            last = _median(values, 1 - WINDOW, 1.0)
            tolerated = TOLERATED_CONNECTIONS if name == "connections" else TOLERATED_MB
            found.append(
                Growth(
                    name,
                    first,
                    last,
                    (last - first) / ((values[-1][0] - values[0][0]) * (1 - WARM_UP - WINDOW)) * 3600,
                    max(value for _, value in values),
                    first + max(first * TOLERATED_SHARE, tolerated),
                )
            )
        return found

    def _add(self, name: str, now: float, value: float) -> None:
        self.series.setdefault(name, []).append((now, float(value)))


def _median(values: list[tuple[float, float]], since: float, until: float) -> float:
    start, end = values[0][0], values[-1][0]
    low, high = start + (end - start) * since, start + (end - start) * until
    return statistics.median(value for at, value in values if low <= at <= high)
