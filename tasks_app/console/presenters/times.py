"""Moments. The server writes a first relative text; ``static/js/times.js`` keeps it ticking by the same rules."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from tasks_app.console.presenters.numbers import UNKNOWN, coarse

MAX_MS = 253_402_300_799_000  # the last second of the year 9999, the end of what datetime can show


def now_ms() -> int:
    """This host's clock, for display only: what is decided by time is decided by Redis."""
    return time.time_ns() // 1_000_000


def moment(ms: int | None) -> datetime | None:
    """``ms`` as an aware datetime; ``None`` when unknown or out of the calendar."""
    if ms is None or not 0 <= ms <= MAX_MS:
        return None
    return datetime.fromtimestamp(ms / 1000, UTC)


def exact(ms: int | None) -> str:
    """``2030-01-31 02:47:13.042 UTC``."""
    at = moment(ms)
    return UNKNOWN if at is None else f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d} UTC"


def iso(ms: int | None) -> str:
    """ISO 8601 with milliseconds in UTC; empty when unknown."""
    at = moment(ms)
    return "" if at is None else at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def clock(ms: int | None) -> str:
    """``02:47:13`` UTC."""
    at = moment(ms)
    return UNKNOWN if at is None else f"{at:%H:%M:%S}"


def relative(ms: int | None, kind: str, now: int) -> str:
    """The text of a ticking time.

    ``kind``: ``ago``, ``until`` (a due time), ``left`` (before it is over) or ``for`` (how long it has lasted).
    """
    if ms is None:
        return UNKNOWN
    if kind == "for":
        return stopwatch(now - ms)
    distance = ms - now
    if kind == "left":
        return f"{coarse(distance)} left" if distance > 0 else "over"
    if kind == "until" and distance > 0:
        return f"in {coarse(distance)}"
    if kind == "until":
        return "due now" if distance > -1000 else f"due {coarse(-distance)} ago"
    text = coarse(now - ms)
    return text if text == "now" else f"{text} ago"


def stopwatch(ms: int) -> str:
    """``7s``, ``12m 40s``, ``3h 05m`` or ``2d 4h``: how long it lasts, not to be taken for a clock time."""
    seconds = max(0, ms) // 1000
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if not minutes:
        return f"{seconds}s"
    if not hours:
        return f"{minutes}m {seconds % 60:02d}s"
    if not days:
        return f"{hours}h {minutes % 60:02d}m"
    return f"{days}d {hours % 24}h"
