"""The list of tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from tasks_app.console.filters import LIMITS, SINCE_WORDS, parse_filter
from tasks_app.console.fragments import Fragment, LivePage, Reading
from tasks_app.console.presenters.curl import first_line
from tasks_app.console.presenters.operations import every_match
from tasks_app.console.presenters.statuses import STATUS_LOOKS, Look
from tasks_app.console.presenters.tasks import Row, bulk_actions, gone_row, row
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Task, UnreadableTask
from tasks_app.domain.transitions import Action


@dataclass(frozen=True, slots=True)
class Tab:
    """A status with its count; ``count`` is ``None`` where it cannot be known for the filter."""

    status: str
    word: str
    look: Look | None
    count: int | None
    current: bool


class TasksReading(Reading):
    """The list's filter and what the store says to it."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.filter = parse_filter(self.params)
        self.where = self.filter.where(self.now)
        self.cursor = self.params.get("cursor") or None

    @cached_property
    def counts(self) -> dict[TaskStatus, int] | None:
        """Per status, under the filter's queue or type; ``None`` where the indexes cannot tell."""
        if not self.filter.countable:
            return None
        return self.queries.counts(queue=self.where.queue, task_type=self.where.task_type)

    @property
    def first_line(self) -> str:
        """The curl line that an empty queue invites to try."""
        base = self.request.build_absolute_uri(reverse("console:overview"))
        return first_line(base, needs_key=not self.config.open_mode)

    def still_listed(self, task: Task | UnreadableTask) -> bool:
        """True while a row that is on the screen would still be found by the filter."""
        if isinstance(task, UnreadableTask):
            return True
        return (self.where.status is None or task.status is self.where.status) and (
            self.where.worker_id is None or task.worker_id == self.where.worker_id
        )


def build_tabs(reading: TasksReading) -> dict[str, Any]:
    """The tabs with their counts."""
    counts = reading.counts
    total = None if counts is None else sum(counts.values())
    tabs = [Tab("", "All", None, total, reading.filter.status is None)]
    for status, look in STATUS_LOOKS.items():
        count = None if counts is None else counts[status]
        tabs.append(Tab(status.value, look.word, look, count, reading.filter.status is status))
    return {"tabs": tabs}


def build_rows(reading: TasksReading) -> dict[str, Any]:
    """The rows: a page of the list, or those on the screen as they are now and how many newer ones there are."""
    page = reading.queries.tasks(reading.where, None if reading.shown else reading.cursor, reading.filter.limit)
    operator = reading.may_operate
    if not reading.shown:
        return {
            "rows": [row(task, operator=operator) for task in page.items],
            "next": page.next,
            "fresh": "",
            **_situation(reading),
        }
    newest = max(reading.shown)
    newer = 0 if reading.cursor else sum(1 for task in page.items if task.id > newest)
    more = newer == len(page.items) and page.next is not None
    return {
        "rows": shown_rows(reading, reading.shown, reading.still_listed),
        # The list goes on below the rows on the screen, whatever has come in above them.
        "next": reading.params.get("next") or page.next,
        "fresh": f"{newer}{'+' if more else ''} new" if newer else "",
        **_situation(reading),
    }


def shown_rows(reading: Reading, shown: Iterable[str], still: Any) -> list[Row]:
    """The rows on the screen, in their order, as they are now."""
    ids = list(shown)
    found = {task.id: task for task in reading.queries.rows(ids)}
    return [
        row(found[i], operator=reading.may_operate, here=still(found[i])) if i in found else gone_row(i) for i in ids
    ]


def _situation(reading: TasksReading) -> dict[str, Any]:
    counts = reading.counts
    listed = None
    if counts is not None:
        status = reading.filter.status
        listed = sum(counts.values()) if status is None else counts[status]
    return {
        "filter": reading.filter,
        "listed": listed,
        "cursor": reading.cursor,
        "every": [] if reading.filter.q else every_match(reading.filter.status, reading.rights),
        "matching": listed,
        "matched_by": reading.filter.pairs,
        "nothing_yet": not reading.filter.narrows and counts is not None and not any(counts.values()),
        "limits": LIMITS,
    }


def build_filters(reading: TasksReading) -> dict[str, Any]:
    """The filter bar and the bar of bulk actions. Neither is a fragment: what is typed in them is the operator's."""
    chosen = reading.filter
    return {
        "filter": chosen,
        "search_text": chosen.search_text,
        "queue_names": _with([info.name for info in reading.queries.queues()], chosen.queue),
        "type_names": _with(reading.queries.task_types(), chosen.task_type),
        "since_words": SINCE_WORDS.items(),
        "bulk": bulk_actions(Action, operator=reading.may_operate),
    }


def _with(names: list[str], chosen: str) -> list[str]:
    return names if not chosen or chosen in names else [chosen, *names]


def _topics(reading: TasksReading) -> list[str]:
    if reading.filter.queue:
        return [f"queue:{reading.filter.queue}"]
    if reading.filter.task_type:
        return [f"type:{reading.filter.task_type}"]
    return ["tasks"]


tasks = LivePage(
    "console/tasks.html",
    reading=TasksReading,
    fragments=[
        Fragment("tabs", "console/_tabs.html", build_tabs, _topics),
        Fragment("rows", "console/_tasks.html", build_rows, _topics, rows=True),
    ],
    base=build_filters,
)
