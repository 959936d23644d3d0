"""When a queue will be empty, by how it went in the last minutes."""

from __future__ import annotations

from dataclasses import dataclass

from tasks_app.console.presenters.numbers import DAY, duration
from tasks_app.domain.snapshot import QueueFlow

WEEK_MS = 7 * DAY


@dataclass(frozen=True, slots=True)
class Forecast:
    """``text`` is for the eye; ``tone`` a ``tone-*`` class."""

    text: str
    tone: str = "grey"


def drain_forecast(waiting: int, flow: QueueFlow | None, *, paused: bool) -> Forecast:
    """Say when ``waiting`` tasks will have been started at the present rates; no flow means that nothing moved."""
    if waiting == 0:
        return Forecast("empty")
    if paused:
        return Forecast("paused", "amber")
    if flow is None or flow.out == 0:
        return Forecast("not moving", "red")
    net = flow.out - flow.into
    if net <= 0.02 * flow.out:
        return Forecast("growing" if net < 0 else "holding", "amber")
    left_ms = waiting / net * 60_000
    if left_ms > WEEK_MS:
        return Forecast("over a week", "amber")
    return Forecast(f"empty in {duration(left_ms)}" if left_ms >= 1000 else "empty in a moment")
