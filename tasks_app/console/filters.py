"""What a list's address says, and what the search box turns into."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.http import HttpRequest, QueryDict

from tasks_app.domain.errors import ValidationError
from tasks_app.domain.snapshot import TaskFilter
from tasks_app.domain.status import TaskStatus

LIMITS = (25, 50, 100)
SINCE_MS = {"15m": 900_000, "1h": 3_600_000, "24h": 86_400_000, "7d": 604_800_000}
SINCE_WORDS = {"15m": "last 15 minutes", "1h": "last hour", "24h": "last 24 hours", "7d": "last 7 days"}

_WHOLE_ID = re.compile(r"[0-9a-f]{32}")
_QUALIFIERS = ("type", "queue", "status", "worker")
_STATUS_WORDS = {
    "scheduled": TaskStatus.PENDING,
    "dead": TaskStatus.DEAD_LETTERED,
    "dead-lettered": TaskStatus.DEAD_LETTERED,
}


@dataclass(frozen=True, slots=True)
class ListFilter:
    """A task list's filter as the address has it; :meth:`where` is what the store is asked."""

    status: TaskStatus | None = None
    queue: str = ""
    task_type: str = ""
    worker: str = ""
    since: str = ""
    q: str = ""
    limit: int = LIMITS[0]

    @property
    def narrows(self) -> bool:
        """True when anything but the status narrows the list."""
        return bool(self.queue or self.task_type or self.worker or self.since or self.q)

    @property
    def countable(self) -> bool:
        """True when the counts per status can be known for this filter; else they are shown as unknown."""
        return not (self.worker or self.since or self.q or (self.queue and self.task_type))

    @property
    def search_text(self) -> str:
        """The filter as one would type it into the search box."""
        return _typed({**dict(self.pairs), "q": self.q})

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """What is given, as the address has it."""
        named = (
            ("status", self.status or ""),
            ("queue", self.queue),
            ("type", self.task_type),
            ("worker", self.worker),
            ("since", self.since),
        )
        return [(name, value) for name, value in named if value]

    def where(self, now: int) -> TaskFilter:
        """The store's filter; ``now`` in epoch milliseconds is what ``since`` counts from."""
        return TaskFilter(
            status=self.status,
            queue=self.queue or None,
            task_type=self.task_type or None,
            worker_id=self.worker or None,
            q=self.q or None,
            created_after=now - SINCE_MS[self.since] if self.since else None,
        )


def parse_filter(params: QueryDict) -> ListFilter:
    """Read a filter from an address.

    Raises:
        ValidationError: an unknown status, window or page size.
    """
    problems: dict[str, list[str]] = {}
    since = params.get("since", "")
    if since and since not in SINCE_MS:
        problems["since"] = [f"must be one of {', '.join(SINCE_MS)}"]
    limit = params.get("limit", str(LIMITS[0]))
    if limit not in map(str, LIMITS):
        problems["limit"] = [f"must be one of {', '.join(map(str, LIMITS))}"]
    status = _status(params.get("status", ""), problems)
    if problems:
        raise ValidationError(problems)
    text = {name: params.get(name, "").strip()[:300] for name in ("queue", "type", "worker", "q")}
    return ListFilter(
        status=status,
        queue=text["queue"],
        task_type=text["type"],
        worker=text["worker"],
        since=since,
        q=text["q"],
        limit=int(limit),
    )


@dataclass(frozen=True, slots=True)
class Search:
    """``params`` of the task list; ``task_id`` when the text reads as a whole id, as a key may, too."""

    task_id: str = ""
    params: tuple[tuple[str, str], ...] = ()


def parse_search(text: str) -> Search:
    """Read the search box: a whole id, the start of one, an idempotency key, or ``type:x queue:y status:z worker:w``.

    Raises:
        ValidationError: an unknown status.
    """
    params: dict[str, str] = {}
    problems: dict[str, list[str]] = {}
    rest = []
    for word in text.strip().split():
        name, colon, value = word.partition(":")
        if colon and value and name in _QUALIFIERS:
            params[name] = value
        else:
            rest.append(word)
    status = _status(params.pop("status", ""), problems)
    if problems:
        raise ValidationError(problems)
    if status:
        params["status"] = status.value
    q = " ".join(rest)
    compact = q.replace("-", "").lower()
    task_id = compact if not params and _WHOLE_ID.fullmatch(compact) else ""
    if q:
        params["q"] = q
    return Search(task_id, tuple(params.items()))


def searched(request: HttpRequest) -> str:
    """What would have to stand in the search box to get to this address, sensible or not; empty for other pages."""
    match = request.resolver_match
    if match is None or match.namespace != "console":
        return ""
    if match.url_name == "task":
        return str(match.kwargs["task_id"])
    if match.url_name == "search":
        return request.GET.get("q", "")
    return _typed(request.GET) if match.url_name == "tasks" else ""


def _typed(params: Mapping[str, str]) -> str:
    words = [f"{name}:{params[name]}" for name in _QUALIFIERS if params.get(name)]
    return " ".join([*words, params["q"]] if params.get("q") else words)


def _status(text: str, problems: dict[str, list[str]]) -> TaskStatus | None:
    if not text:
        return None
    if text in _STATUS_WORDS:
        return _STATUS_WORDS[text]
    try:
        return TaskStatus(text)
    except ValueError:
        problems["status"] = [f"{text[:40]!r} is not one of {', '.join(TaskStatus)}"]
        return None
