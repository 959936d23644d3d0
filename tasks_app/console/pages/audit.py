"""The audit: who did what to what, and when."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from tasks_app.console.fragments import Fragment, LivePage, Reading
from tasks_app.store.cursor import encode_cursor

PAGE = 50


class AuditReading(Reading):
    """A page of the audit; with ``task``, what its recent part says of that task."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.cursor = self.params.get("cursor") or None
        self.task_id = self.params.get("task", "").strip()[:64]


def build_entries(reading: AuditReading) -> dict[str, Any]:
    """The entries, newest first. A refresh keeps the page that is on the screen and counts what came above it."""
    page = reading.queries.audit(reading.cursor, PAGE, reading.task_id or None)
    entries = page.items
    fresh = ""
    if reading.shown and not reading.cursor:
        top = reading.shown[0]
        above = next((i for i, entry in enumerate(entries) if entry.entry == top), len(entries))
        fresh = f"{above}{'+' if above == PAGE else ''} new" if above else ""
        # Entries never change, so what is on the screen can be read again from its own top.
        if above:
            entries = reading.queries.audit(_just_above(top), PAGE, reading.task_id or None).items
    return {"entries": entries, "next": page.next, "cursor": reading.cursor, "task_id": reading.task_id, "fresh": fresh}


def _just_above(entry: str) -> str:
    """The cursor of a page that begins with ``entry``."""
    at, _, sequence = entry.partition("-")
    return encode_cursor(f"{at}-{int(sequence or 0) + 1}")


audit = LivePage(
    "console/audit.html",
    reading=AuditReading,
    fragments=[Fragment("entries", "console/_audit.html", build_entries, ["audit", "tick"], rows=True)],
    base=lambda reading: {"task_id": reading.task_id},
)
