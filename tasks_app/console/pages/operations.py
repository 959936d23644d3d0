"""Bulk actions by filter: how far they are."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from tasks_app import runtime
from tasks_app.console.fragments import Fragment, LivePage, Reading
from tasks_app.console.presenters.operations import operation_row
from tasks_app.domain.snapshot import Page

PAGE = 25


class OperationsReading(Reading):
    """Operations, newest first; with ``operation_id`` that one."""

    def __init__(self, request: HttpRequest, operation_id: str = "") -> None:
        super().__init__(request)
        self.operation_id = operation_id


def build_list(reading: OperationsReading) -> dict[str, Any]:
    """A page of operations; of a refresh, those on the screen, and how many came above them.

    Raises:
        NotFound, UnreadableRecord: of a single one.
    """
    cursor = reading.params.get("cursor") or None
    newer = 0
    if reading.operation_id:
        page = Page([runtime.operations().get(reading.operation_id)], None)
    else:
        page = runtime.operations().page(cursor, PAGE)
        if reading.shown and not cursor:
            newer = sum(operation.id > max(reading.shown) for operation in page.items)
        if newer:
            page = runtime.operations().page(None, newer + PAGE)
    leader = reading.queries.leader() is not None
    rows = [operation_row(operation, leader=leader) for operation in page.items[newer:]]
    waiting = any(row.operation.runs for row in rows) and not leader
    fresh = f"{newer}{'+' if newer == PAGE else ''} new" if newer else ""
    return {"rows": rows, "next": page.next, "cursor": cursor, "waiting": waiting, "fresh": fresh}


operations = LivePage(
    "console/operations.html",
    reading=OperationsReading,
    # Each step of an operation moves tasks, which is what the page hears; the clock brings what moved none.
    fragments=[Fragment("operations", "console/_operations.html", build_list, ["tasks", "tick"], rows=True)],
)
