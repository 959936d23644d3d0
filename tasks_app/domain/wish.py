"""What an operator can want of a worker."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Wish(StrEnum):
    """``QUIET``: take nothing new, finish what runs, stay. ``RESUME``: take tasks again. ``STOP``: drain and exit."""

    QUIET = "quiet"
    RESUME = "resume"
    STOP = "stop"


STANDING = frozenset({Wish.QUIET, Wish.STOP})
"""Those that stand until they are taken back or the worker has left; to resume is to want nothing any more."""


@dataclass(frozen=True, slots=True)
class Told:
    """The wish that stands for a worker, quiet or stop, with who told it and when (epoch milliseconds)."""

    wish: Wish
    by: str
    at: int
