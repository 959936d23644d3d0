"""Numbers, durations and sizes in words. Unknown is an em dash, never a zero."""

from __future__ import annotations

UNKNOWN = "—"
EXACT_BELOW = 10_000
SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def count(value: int | None) -> str:
    """Exact below 10,000, then short: ``12.3k``, ``1.04M``. The exact figure belongs in a tooltip."""
    if value is None:
        return UNKNOWN
    if abs(value) < EXACT_BELOW:
        return f"{value:,}"
    size, suffix = value / 1000, "k"
    for larger in ("M", "G"):
        if abs(size) < 999.5:
            break
        size, suffix = size / 1000, larger
    digits = 0 if abs(size) >= 100 else 1 if abs(size) >= 10 else 2
    return f"{size:.{digits}f}{suffix}"


def exact(value: int | None) -> str:
    """The figure with thousands separators."""
    return UNKNOWN if value is None else f"{value:,}"


def duration(ms: float | None) -> str:
    """Milliseconds in at most two units: ``840 ms``, ``12.4 s``, ``3m 05s``, ``2h 10m``, ``4d 6h``, ``7d``."""
    if ms is None:
        return UNKNOWN
    ms = max(0, ms)
    if ms < 10:
        return f"{ms:.1f}".rstrip("0").rstrip(".") + " ms"
    if ms < SECOND:
        return f"{ms:.0f} ms"
    if ms < MINUTE:
        return f"{ms / SECOND:.1f}".removesuffix(".0") + " s"
    if ms < HOUR:
        return f"{int(ms // MINUTE)}m {int(ms % MINUTE // SECOND):02d}s".removesuffix(" 00s")
    if ms < DAY:
        return f"{int(ms // HOUR)}h {int(ms % HOUR // MINUTE):02d}m".removesuffix(" 00m")
    return f"{int(ms // DAY)}d {int(ms % DAY // HOUR)}h".removesuffix(" 0h")


def coarse(ms: float | None) -> str:
    """Milliseconds in one unit, for ages that tick: ``now``, ``12s``, ``5m``, ``3h``, ``2d``."""
    if ms is None:
        return UNKNOWN
    ms = max(0, ms)
    if ms < SECOND:
        return "now"
    for unit, size, limit in (("s", SECOND, MINUTE), ("m", MINUTE, HOUR), ("h", HOUR, 2 * DAY)):
        if ms < limit:
            return f"{int(ms // size)}{unit}"
    return f"{int(ms // DAY)}d"


def size(value: int | None) -> str:
    """Bytes in binary units: ``812 B``, ``14.2 KiB``, ``3.1 MiB``."""
    if value is None:
        return UNKNOWN
    if value < 1024:
        return f"{value} B"
    amount, suffix = value / 1024, "KiB"
    for larger in ("MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, suffix = amount / 1024, larger
    return f"{amount:.1f}".removesuffix(".0") + f" {suffix}"


def rate(per_minute: float | None) -> str:
    """Tasks per minute, with a decimal while small."""
    if per_minute is None:
        return UNKNOWN
    return f"{per_minute:.1f}" if 0 < per_minute < 10 else count(round(per_minute))
