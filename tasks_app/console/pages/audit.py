"""The audit: who did what to what, and when."""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from tasks_app.conf import redaction
from tasks_app.console.fragments import Fragment, LivePage, Reading
from tasks_app.domain.snapshot import AuditEntry, Page
from tasks_app.domain.submission import QUEUE_PATTERN
from tasks_app.store.cursor import encode_cursor

_WITH_PAGE = {"queue": QUEUE_PATTERN, "operation": re.compile(r"[0-9a-f]{32}")}
PAGE = 50
LOOKED_AT = 500
ROUNDS = 4
"""No index serves a filter by author or action: at most 2,000 entries are looked at for a page of them."""

DETAIL_WORDS = {
    "OK": "done",
    "CANCEL_REQUESTED": "running, told to stop",
    "TASK_FINISHED": "refused, it had ended",
    "NOT_FOUND": "refused, it was gone",
    "WRONG_STATUS": "refused in its status",
    "IDEMPOTENCY_CONFLICT": "refused, its key is in use",
}


MOST_DIGITS = 15
"""Of a number of tasks; Python refuses to read very long ones."""


def detail_words(detail: str) -> str:
    """An entry's detail as one would say it; a bare number is how many tasks an action on many of them changed."""
    if detail.isascii() and detail.isdigit() and len(detail) <= MOST_DIGITS:
        return f"{int(detail):,} task{'' if detail == '1' else 's'}"
    return DETAIL_WORDS.get(detail) or redaction().text(detail)


class AuditReading(Reading):
    """A page of the audit; with ``task``, what its recent part says of that task."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.cursor = self.params.get("cursor") or None
        self.task_id = self.params.get("task", "").strip()[:64]
        self.actor = self.params.get("actor", "").strip()[:150]
        self.action = self.params.get("action", "").strip()[:40]

    @property
    def filtered(self) -> bool:
        """True when not every entry is listed."""
        return bool(self.task_id or self.actor or self.action)

    def page(self, cursor: str | None) -> Page[AuditEntry]:
        """A page of the entries that match, from ``cursor`` down."""
        if not (self.actor or self.action):
            return self.queries.audit(cursor, PAGE, self.task_id or None)
        found: list[AuditEntry] = []
        for _ in range(ROUNDS):
            page = self.queries.audit(cursor, LOOKED_AT, self.task_id or None)
            found += [entry for entry in page.items if self._matches(entry)]
            cursor = page.next
            if len(found) > PAGE:
                return Page(found[:PAGE], encode_cursor(found[PAGE - 1].entry))
            if cursor is None:
                break
        return Page(found, cursor)

    def _matches(self, entry: AuditEntry) -> bool:
        return (not self.actor or entry.actor == self.actor) and (not self.action or entry.action == self.action)


def build_entries(reading: AuditReading) -> dict[str, Any]:
    """The entries, newest first. A refresh keeps the page that is on the screen and counts what came above it."""
    page = reading.page(reading.cursor)
    entries = page.items
    fresh = ""
    if reading.shown and not reading.cursor:
        top = reading.shown[0]
        above = next((i for i, entry in enumerate(entries) if entry.entry == top), len(entries))
        fresh = f"{above}{'+' if above == PAGE else ''} new" if above else ""
        # Entries never change, so what is on the screen can be read again from its own top.
        if above:
            page = reading.page(_just_above(top))
            entries = page.items
    return {
        "entries": [(entry, detail_words(entry.detail), *_linked(entry.target)) for entry in entries],
        "next": page.next,
        "cursor": reading.cursor,
        "filtered": reading.filtered,
        "fresh": fresh,
    }


def _linked(target: str) -> tuple[str, str, str]:
    """What an entry speaks of: its kind, its name, and the address of its page; all empty when it has no page."""
    kind, _, name = target.partition(":")
    if kind in _WITH_PAGE and _WITH_PAGE[kind].fullmatch(name):
        return kind, name, reverse(f"console:{kind}", args=[name])
    return "", "", ""


def _just_above(entry: str) -> str:
    """The cursor of a page that begins with ``entry``."""
    at, _, sequence = entry.partition("-")
    return encode_cursor(f"{at}-{int(sequence or 0) + 1}")


audit = LivePage(
    "console/audit.html",
    reading=AuditReading,
    fragments=[Fragment("entries", "console/_audit.html", build_entries, ["audit", "tick"], rows=True)],
    base=lambda reading: {
        "task_id": reading.task_id,
        "actor": reading.actor,
        "action": reading.action,
        "filtered": reading.filtered,
    },
)
