"""What people read in a terminal: aligned, and with nothing in it that a terminal would obey."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tasks_app.domain.wire import iso

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NOTHING = "-"


def printable(value: Any) -> str:
    """``value`` on one line; control characters, which could be commands to the terminal, show as escapes."""
    if value is None or value == "":
        return _NOTHING
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", str(value))


def clock(ms: int | None) -> str:
    """``2026-01-31 12:00:00Z``."""
    if ms is None:
        return _NOTHING
    try:
        return f"{iso(ms)[:19].replace('T', ' ')}Z"
    except OverflowError:
        return f"@{ms}"


def table(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns as wide as their widest cell; numbers to the right."""
    if not rows:
        return "none"
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    numeric = [all(isinstance(row[i], int | float) for row in rows) for i in range(len(headings))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in ([heading.upper() for heading in headings], *cells)
    )


def facts(pairs: Sequence[tuple[str, Any]]) -> str:
    """Name and value, a pair a line; pairs without a value are left out."""
    known = [(name, printable(value)) for name, value in pairs if value not in (None, "", False)]
    width = max((len(name) for name, _ in known), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in known)


def block(title: str, text: str) -> str:
    """Several lines under a title, each made harmless."""
    return "\n".join([f"{title}:", *(f"  {printable(line)}" for line in text.splitlines())])
