"""Numbers that several commands take, and within which bounds."""

from __future__ import annotations

from django.core.management.base import CommandError

MAX_CONCURRENCY = 10_000
MAX_PROCESSES = 256


def check_range(option: str, value: int | None, lowest: int, highest: int) -> None:
    """Nothing when ``value`` was not given.

    Raises:
        CommandError: it is out of bounds.
    """
    if value is not None and not lowest <= value <= highest:
        raise CommandError(f"{option} must be {lowest}..{highest}")
