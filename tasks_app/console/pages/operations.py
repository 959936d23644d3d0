"""Bulk actions by filter: how far they are."""

from __future__ import annotations

from typing import Any

from tasks_app import runtime
from tasks_app.console.fragments import Fragment, LivePage, Reading
from tasks_app.console.presenters.operations import operation_row

PAGE = 25


def build_list(reading: Reading) -> dict[str, Any]:
    """A page of operations, newest first."""
    cursor = reading.params.get("cursor") or None
    page = runtime.operations().page(cursor, PAGE)
    leader = reading.queries.leader() is not None
    rows = [operation_row(operation, leader=leader) for operation in page.items]
    waiting = any(row.operation.runs for row in rows) and not leader
    return {"rows": rows, "next": page.next, "cursor": cursor, "waiting": waiting}


operations = LivePage(
    "console/operations.html",
    reading=Reading,
    # Each step of an operation moves tasks, which is what the page hears; the clock brings what moved none.
    fragments=[Fragment("operations", "console/_operations.html", build_list, ["tasks", "tick"])],
)
