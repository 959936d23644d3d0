"""One task's page, its JSON and its stored texts."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from tasks_app.conf import redaction
from tasks_app.console.doors import seen_by_users
from tasks_app.console.fragments import Fragment, LivePage, Reading
from tasks_app.console.pages.audit import detail_words
from tasks_app.console.presenters import json_view
from tasks_app.console.presenters.curl import hint, submit_line
from tasks_app.console.presenters.statuses import UNREADABLE, look_of, outcome_look
from tasks_app.console.presenters.tasks import buttons
from tasks_app.console.presenters.timeline import timeline
from tasks_app.console.presenters.waiting import MOST_AHEAD, why_not_running
from tasks_app.console.replies import readable_errors
from tasks_app.domain.errors import NotFound, UnreadableRecord
from tasks_app.domain.snapshot import QueueInfo
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Task, TaskDetail, UnreadableTask
from tasks_app.domain.wire import detail_record, texts_of
from tasks_app.runtime import queries
from tasks_app.store.scripts import ATTEMPTS_KEPT
from tasks_app.store.scripts import LOG_LINES as LOG_LINES_KEPT

LOG_LINES = 200
_TEXTS = ("payload", "metadata", "result")


class TaskReading(Reading):
    """One task; a record that does not decode is ``unreadable`` and still has a page to be discarded from."""

    def __init__(self, request: HttpRequest, task_id: str) -> None:
        super().__init__(request)
        self.task_id = task_id
        self.unreadable: UnreadableTask | None = None
        self.detail: TaskDetail | None = None
        try:
            self.detail = self.queries.detail(task_id)
        except UnreadableRecord as error:
            self.unreadable = UnreadableTask(task_id, str(error.details.get("reason") or error.message))

    @property
    def task(self) -> Task | None:
        """The record; ``None`` when it does not decode."""
        return None if self.detail is None else self.detail.task

    @cached_property
    def queue(self) -> QueueInfo | None:
        """The task's queue with its bands; ``None`` when nobody knows it."""
        if self.task is None:
            return None
        try:
            return self.queries.queue(self.task.queue)
        except NotFound:
            return None


def build_head(reading: TaskReading) -> dict[str, Any]:
    """Type, status and the four actions, always in the same place."""
    task = reading.task
    if task is None:
        assert reading.unreadable is not None
        return {
            "look": UNREADABLE,
            "reason": reading.unreadable.reason,
            "task_id": reading.task_id,
            "buttons": buttons(reading.unreadable, operator=reading.may_operate),
        }
    return {
        "task": task,
        "task_id": task.id,
        "look": look_of(task.status, cancel_requested=task.cancel_requested),
        "buttons": buttons(task, operator=reading.may_operate),
        "percent": round(task.progress * 100) if task.progress is not None and not task.status.is_terminal else None,
    }


def build_state(reading: TaskReading) -> dict[str, Any]:
    """Why it waits, the timeline, the facts."""
    if reading.detail is None:
        return {}
    task = reading.detail.task
    reasons = []
    if task.status.is_waiting:
        ahead = reading.queries.ahead(task, MOST_AHEAD + 1) if task.status is TaskStatus.QUEUED else None
        reasons = why_not_running(
            task, reading.queue, reading.queries.workers(), reading.queries.leader(), reading.now, ahead
        )
    started = task.started_at
    waited_from = task.enqueued_at or task.created_at
    return {
        "task": task,
        "reasons": reasons,
        "expired": task.expires_at is not None and task.expires_at <= reading.now,
        "blocked": any(reason.blocks for reason in reasons),
        "steps": timeline(reading.detail),
        "waited_from": waited_from,
        "waited_ms": None if started is None or started < waited_from else started - waited_from,
        "ran_ms": None if started is None or task.finished_at is None else max(0, task.finished_at - started),
    }


def build_history(reading: TaskReading) -> dict[str, Any]:
    """Attempts, newest first, with their errors; log lines, oldest first."""
    detail = reading.detail
    if detail is None:
        return {}
    attempts = [
        {"attempt": attempt, "look": outcome_look(attempt.outcome), "took": _took(attempt.started_at, attempt.ended_at)}
        for attempt in reversed(detail.attempts)
    ]
    return {
        "attempts": attempts,
        "log": detail.log[-LOG_LINES:],
        "log_cut": max(0, len(detail.log) - LOG_LINES),
        # What was cut off before nobody counted.
        "attempts_kept": ATTEMPTS_KEPT if len(detail.attempts) >= ATTEMPTS_KEPT else None,
        "log_kept": LOG_LINES_KEPT if len(detail.log) >= LOG_LINES_KEPT else None,
        "task": detail.task,
    }


def build_result(reading: TaskReading) -> dict[str, Any]:
    """The result, once there is one."""
    task = reading.task
    text = None if task is None else task.result_json
    return {"task": task, "name": "result", "view": json_view.view(text, redaction())}


def build_audit(reading: TaskReading) -> dict[str, Any]:
    """What the audit says of this task, and what was done to it that has no entry of its own there."""
    entries = reading.queries.audit(task_id=reading.task_id, limit=20).items
    return {
        "entries": [(entry, detail_words(entry.detail)) for entry in entries],
        "unsaid": _unsaid(reading.task, {entry.action for entry in entries}),
    }


def _unsaid(task: Task | None, actions: set[str]) -> str:
    """``cancel`` or ``requeue`` when that was done, and none of ``actions`` is it; else empty."""
    if task is None:
        return ""
    if task.status is TaskStatus.CANCELLED and "cancel" not in actions:
        return "cancel"
    return "requeue" if task.requeues and "requeue" not in actions else ""


def build_page(reading: TaskReading) -> dict[str, Any]:
    """What never changes: payload, metadata and the curl line."""
    task = reading.task
    if task is None:
        return {"task_id": reading.task_id, "title": reading.task_id}
    base = reading.request.build_absolute_uri(reverse("console:overview"))
    return {
        "task_id": task.id,
        "title": task.task_type,
        "task": task,
        "texts": [
            ("payload", json_view.view(task.payload_json, redaction())),
            ("metadata", json_view.view(task.metadata_json, redaction())),
        ],
        "curl_hint": hint(task, redaction()),
        "curl": submit_line(task, base, redaction(), needs_key=not reading.config.open_mode),
    }


def _took(started: int, ended: int | None) -> int | None:
    return None if ended is None else max(0, ended - started)


def _topics(reading: TaskReading) -> list[str]:
    task = reading.task
    if task is None or task.status.is_terminal:
        return []
    return [f"task:{task.id}", "tick"]


task = LivePage(
    "console/task.html",
    reading=TaskReading,
    fragments=[
        Fragment("head", "console/_task_head.html", build_head, _topics),
        Fragment("state", "console/_task_state.html", build_state, _topics),
        Fragment("history", "console/_task_history.html", build_history, _topics),
        Fragment("result", "console/_task_result.html", build_result, _topics),
        Fragment("audit", "console/_task_audit.html", build_audit, _topics),
    ],
    base=build_page,
)


@seen_by_users
@readable_errors
def task_json(request: HttpRequest, task_id: str) -> HttpResponse:
    """The task as the API shows it, but for masked secrets."""
    detail = queries().detail(task_id)
    record = redaction().value(detail_record(detail))
    head = json.dumps(record, ensure_ascii=False, indent=2).removesuffix("\n}")
    texts = texts_of(detail.task).items()
    members = "".join(f',\n  "{name}": {json_view.masked_text(text, redaction())}' for name, text in texts)
    return HttpResponse(f"{head}{members}\n}}\n", content_type="application/json")


@seen_by_users
@readable_errors
def task_text(request: HttpRequest, task_id: str, name: str) -> HttpResponse:
    """The whole stored payload, metadata or result as a file, secrets masked."""
    if name not in _TEXTS:
        raise NotFound(f"A task has no {name}")
    text = getattr(queries().task(task_id), f"{name}_json")
    masked = json_view.masked_text(text or "null", redaction())
    return HttpResponse(masked, content_type="application/json")
