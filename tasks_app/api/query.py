"""Parameters in a URL, checked as strictly as a body: what is unknown or given twice is refused by name."""

from __future__ import annotations

import re
from types import TracebackType

from django.http import QueryDict

from tasks_app.api.times import MOMENT_RULE, parse_moment
from tasks_app.domain.errors import ValidationError
from tasks_app.domain.status import TaskStatus

MAX_LIMIT = 200
FINGERPRINT = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
TEXT = re.compile(r"[^\x00-\x1f\x7f]{1,255}")
_WHOLE = re.compile(r"[0-9]{1,9}")
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,20})?")


class QueryReader:
    """Reads parameters inside a ``with`` block, whose end refuses them all at once.

    Raises:
        ValidationError: at the block's end; it names every parameter that breaks its rule, comes twice or was not
            asked for.
    """

    def __init__(self, params: QueryDict) -> None:
        self._params = params
        self._asked: set[str] = set()
        self._problems: dict[str, list[str]] = {}

    def __enter__(self) -> QueryReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if kind is not None:
            return
        for name in self._params:
            if name not in self._asked:
                self._fail(name[:64], "is not a parameter of this URL")
        if self._problems:
            raise ValidationError(self._problems)

    def limit(self, default: int) -> int:
        """How many items a page has."""
        text = self._single("limit")
        if text is None:
            return default
        if not _WHOLE.fullmatch(text) or not 1 <= int(text) <= MAX_LIMIT:
            self._fail("limit", f"must be a whole number 1..{MAX_LIMIT}")
            return default
        return int(text)

    def limit_or_all(self) -> int | None:
        """How many items a page has; ``None`` when it is for all of them."""
        return self.limit(0) or None

    def cursor(self) -> str | None:
        """Where the page starts. Whether it is one of ours is for the store to say."""
        text = self._single("cursor")
        if text == "":
            self._fail("cursor", "must be the `next` of the page before")
        return text

    def status(self) -> TaskStatus | None:
        """A task's status."""
        text = self._single("status")
        if text is None:
            return None
        try:
            return TaskStatus(text)
        except ValueError:
            self._fail("status", f"must be one of {', '.join(TaskStatus)}")
            return None

    def matching(self, name: str, pattern: re.Pattern[str], rule: str = "") -> str | None:
        """Text that matches ``pattern`` as a whole."""
        text = self._single(name)
        if text is not None and not pattern.fullmatch(text):
            self._fail(name, rule or f"must match ^{pattern.pattern}$")
            return None
        return text

    def text(self, name: str) -> str | None:
        """Up to 255 characters without control characters."""
        return self.matching(name, TEXT, "must be 1 to 255 characters without control characters")

    def moment(self, name: str) -> int | None:
        """Epoch milliseconds."""
        text = self._single(name)
        if text is None:
            return None
        ms = parse_moment(text)
        if ms is None:
            self._fail(name, MOMENT_RULE)
        return ms

    def seconds(self, name: str, high: int) -> float:
        """A number of seconds up to ``high``; 0 when absent."""
        text = self._single(name)
        if text is None:
            return 0.0
        if not _SECONDS.fullmatch(text) or float(text) > high:
            self._fail(name, f"must be a number of seconds 0..{high}")
            return 0.0
        return float(text)

    def _single(self, name: str) -> str | None:
        self._asked.add(name)
        values = self._params.getlist(name)
        if len(values) > 1:
            self._fail(name, "is given more than once")
            return None
        return values[0] if values else None

    def _fail(self, name: str, rule: str) -> None:
        self._problems.setdefault(name, []).append(rule)
