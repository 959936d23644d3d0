"""Named API keys: what one may do, to which queues, how often and until when."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from tasks_app.domain.errors import ValidationError

NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
QUEUE_GLOB = re.compile(r"[a-z0-9*][a-z0-9_*-]{0,63}")
MAX_GLOBS = 50
MAX_RATE = 100_000.0
_RATE = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")
_SPAN = re.compile(r"([1-9][0-9]{0,4})([mhd])")
_UNIT_MS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}


class Scope(StrEnum):
    """What a key may do."""

    READ = "read"
    SUBMIT = "submit"
    OPERATE = "operate"


@dataclass(frozen=True, slots=True)
class Reach:
    """The queues that whoever asks is concerned with: those that match one of ``globs``, all when there are none."""

    globs: tuple[str, ...] = ()

    @property
    def everywhere(self) -> bool:
        """True when no queue is out of reach."""
        return not self.globs

    def covers(self, queue: str) -> bool:
        """True when the queue is one of them."""
        return not self.globs or any(fnmatchcase(queue, glob) for glob in self.globs)


EVERYWHERE = Reach()


@dataclass(frozen=True, slots=True)
class Grant:
    """A key to be made. ``rate`` is requests a second: ``None`` leaves it to the setting, 0 is no limit."""

    name: str
    scopes: frozenset[Scope]
    reach: Reach = EVERYWHERE
    rate: float | None = None
    lasts_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is listed; its secret is known to its holder alone. ``used_at`` is exact to a minute."""

    name: str
    scopes: frozenset[Scope]
    reach: Reach
    rate: float | None
    created_at: int
    created_by: str
    expires_at: int | None
    used_at: int | None
    expired: bool


def allows(scopes: frozenset[Scope], scope: Scope) -> bool:
    """True when ``scopes`` include ``scope``. Who operates reads, too: every action answers with what it acted on."""
    return scope in scopes or (scope is Scope.READ and Scope.OPERATE in scopes)


def parse_grant(name: str, scopes: Sequence[str], queues: Sequence[str] = (), rate: str = "", lasts: str = "") -> Grant:
    """Check what somebody typed.

    Args:
        name: lower-case letters, digits and hyphens.
        scopes: at least one.
        queues: names, in which ``*`` stands for any characters; none for all queues.
        rate: requests a second, such as ``50`` or ``0.5``; ``0`` for no limit, empty for the setting's.
        lasts: a number of minutes, hours or days, such as ``90d``; empty for ever.

    Raises:
        ValidationError: names each field that breaks its rule.
    """
    problems: dict[str, list[str]] = {}
    if NAME_PATTERN.fullmatch(name) is None:
        problems["name"] = ["must be 1 to 40 lower-case letters, digits and hyphens, and begin with no hyphen"]
    if not scopes or not set(scopes) <= set(Scope):
        problems["scopes"] = [f"must be some of {', '.join(Scope)}"]
    if len(queues) > MAX_GLOBS or not all(QUEUE_GLOB.fullmatch(glob) for glob in queues):
        problems["queues"] = [f"must be up to {MAX_GLOBS} names of queues, with * for any characters"]
    if rate and (_RATE.fullmatch(rate) is None or not (float(rate) == 0 or 0.001 <= float(rate) <= MAX_RATE)):
        problems["rate"] = [f"must be 0, or requests a second from 0.001 to {MAX_RATE:.0f}"]
    span = _SPAN.fullmatch(lasts)
    if lasts and span is None:
        problems["expires"] = ["must be a number of minutes, hours or days, such as 90d"]
    if problems:
        raise ValidationError(problems)
    return Grant(
        name,
        frozenset(map(Scope, scopes)),
        EVERYWHERE if "*" in queues else Reach(tuple(dict.fromkeys(queues))),
        float(rate) if rate else None,
        int(span[1]) * _UNIT_MS[span[2]] if span else None,
    )
