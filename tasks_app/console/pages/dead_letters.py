"""Dead letters: by kind of error, or flat."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from tasks_app.console.filters import LIMITS
from tasks_app.console.fragments import Fragment, LivePage, Reading
from tasks_app.console.presenters import charts
from tasks_app.console.presenters.buttons import Button
from tasks_app.console.presenters.operations import every_match
from tasks_app.console.presenters.queues import purging
from tasks_app.console.presenters.tasks import bulk_actions, gone_row, row
from tasks_app.domain.snapshot import DeadLetter, DeadLetterGroup
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Task, UnreadableTask
from tasks_app.domain.transitions import Action

TREND_WINDOW = "24h"
TRIES = (1, 10, 100)
"""How many letters of a kind can be requeued with one press, to see on a few whether the cause is gone."""
BULK = (Action.REQUEUE, Action.DISCARD)


class DeadLettersReading(Reading):
    """The chosen kind, if one is chosen, and the page within it."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.fingerprint = self.params.get("kind", "")[:64]
        self.cursor = self.params.get("cursor") or None
        self.grouped = not self.fingerprint and self.params.get("view") != "flat"

    @cached_property
    def group(self) -> DeadLetterGroup | None:
        """The chosen kind; ``None`` when none is chosen, or it has no letters left."""
        return self.queries.dead_letter_group(self.fingerprint) if self.fingerprint else None

    @cached_property
    def total(self) -> int:
        """How many dead letters there are."""
        return self.queries.counts()[TaskStatus.DEAD_LETTERED]


def build_letters(reading: DeadLettersReading) -> dict[str, Any]:
    """Kinds of errors with their counts, or the letters of a page."""
    kind = [("kind", reading.fingerprint)] if reading.fingerprint else []
    matching = reading.total if not reading.fingerprint else reading.group.count if reading.group else 0
    every = every_match(TaskStatus.DEAD_LETTERED, reading.rights)
    context: dict[str, Any] = {
        # Above all letters a purge is offered already.
        "every": [button for button in every if reading.fingerprint or not button.look.danger] if matching else [],
        "matching": matching,
        "matched_by": [("status", TaskStatus.DEAD_LETTERED.value), *kind],
        "grouped": reading.grouped,
        "total": reading.total,
        "cursor": reading.cursor,
        "fingerprint": reading.fingerprint,
        "group": reading.group,
        "enabled": reading.config.dlq_enabled,
        "tries": [n for n in TRIES if reading.may_operate and reading.group is not None and n <= reading.group.count],
    }
    if reading.grouped:
        latest = reading.queries.dead_letter_groups()
        return context | {
            "groups": sorted(latest, key=lambda group: (-group.count, -group.last_seen)),
            "kinds": max(len(latest), reading.queries.dead_letter_causes()),
        }
    page = reading.queries.dead_letters(reading.cursor, LIMITS[0], reading.fingerprint or None)
    ids = reading.shown or [letter.task_id for letter in page.items if letter.task_id]
    records = {task.id: task for task in reading.queries.rows(ids)}
    letters = {letter.task_id: letter for letter in page.items}
    return context | {
        "rows": [_row(reading, records.get(i), letters.get(i), i) for i in ids],
        "next": page.next,
        "fresh": _fresh(reading, page.items),
    }


def build_trend(reading: DeadLettersReading) -> dict[str, Any]:
    """What failed for good over a day, of all kinds or of one. Nothing while all is well."""
    if reading.fingerprint:
        return {"chart": reading.group and charts.trend_of_kind(reading.group)}
    return {"chart": charts.trend(reading.queries.series(TREND_WINDOW)) if reading.total else None}


def _row(
    reading: DeadLettersReading, record: Task | UnreadableTask | None, letter: DeadLetter | None, task_id: str
) -> dict[str, Any]:
    if record is None:
        return {"row": gone_row(task_id), "letter": letter}
    still = isinstance(record, UnreadableTask) or record.status is TaskStatus.DEAD_LETTERED
    return {"row": row(record, operator=reading.may_operate, here=still), "letter": letter}


def _fresh(reading: DeadLettersReading, items: list[DeadLetter]) -> str:
    if not reading.shown or reading.cursor:
        return ""
    known = set(reading.shown)
    newer = 0
    for letter in items:
        if letter.task_id in known:
            break
        newer += 1
    return f"{newer}{'+' if newer == LIMITS[0] else ''} new" if newer else ""


def _purging(reading: DeadLettersReading) -> list[Button]:
    """Purging is for all letters at once, so the page of one kind has no button for it."""
    if reading.fingerprint or not reading.total:
        return []
    return purging(reverse("console:dlq-purge"), "dead letters", reading.rights)


dead_letters = LivePage(
    "console/dlq.html",
    reading=DeadLettersReading,
    fragments=[
        Fragment("trend", "console/_trend.html", build_trend, ["tick"]),
        Fragment("letters", "console/_dlq.html", build_letters, ["tasks"], rows=True),
    ],
    base=lambda reading: {
        "grouped": reading.grouped,
        "fingerprint": reading.fingerprint,
        "total": reading.total,
        "bulk": bulk_actions(BULK, operator=reading.may_operate),
        "buttons": _purging(reading),
    },
)
