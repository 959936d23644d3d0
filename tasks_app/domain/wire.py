"""How times and tasks look outside: one shape for the API, the shell client and the console's JSON."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tasks_app.domain.errors import UnreadableRecord
from tasks_app.domain.task import Attempt, LogLine, Task, TaskDetail

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FAR_TIME = "a time is outside the years 1 to 9999"


def iso(ms: int) -> str:
    """``2026-01-31T12:00:00.000Z`` for epoch milliseconds.

    Raises:
        OverflowError: the moment is outside the years 1 to 9999.
    """
    # A timedelta counts in whole microseconds, where a float of seconds would lose milliseconds in far years.
    moment = EPOCH + timedelta(milliseconds=ms)
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def iso_or_none(ms: int | None) -> str | None:
    """Like :func:`iso`; what has not happened stays ``None``."""
    return None if ms is None else iso(ms)


def task_record(task: Task) -> dict[str, Any]:
    """A task without payload, metadata and result.

    Raises:
        OverflowError: a time is outside the years 1 to 9999.
    """
    has_progress = task.progress is not None or task.progress_note is not None
    return {
        "id": task.id,
        "task_type": task.task_type,
        "queue": task.queue,
        "priority": task.priority,
        "status": task.status,
        "attempt": task.attempt,
        "max_attempts": task.max_attempts,
        "timeout_ms": task.timeout_ms,
        "created_at": iso(task.created_at),
        "enqueued_at": iso_or_none(task.enqueued_at),
        "started_at": iso_or_none(task.started_at),
        "finished_at": iso_or_none(task.finished_at),
        "due_at": iso_or_none(task.due_at),
        "expires_at": iso_or_none(task.expires_at),
        "worker_id": task.worker_id,
        "cancel_requested": task.cancel_requested,
        "give_backs": task.give_backs,
        "requeues": task.requeues,
        "idempotency_key": task.idempotency_key,
        "fingerprint": task.fingerprint,
        "error": error_record(task),
        "progress": {"fraction": task.progress, "note": task.progress_note} if has_progress else None,
    }


def detail_record(detail: TaskDetail) -> dict[str, Any]:
    """The same with the attempts and log lines that are kept, oldest first.

    Raises:
        UnreadableRecord: a time is outside the years 1 to 9999.
    """
    try:
        history = {"attempts": [*map(_attempt, detail.attempts)], "log": [*map(_log_line, detail.log)]}
        return task_record(detail.task) | history
    except OverflowError as error:
        raise far_time(detail.task) from error


def texts_of(task: Task) -> dict[str, str]:
    """The JSON that goes out as the text it is, by its name."""
    return {
        "payload": task.payload_json or "{}",
        "metadata": task.metadata_json or "{}",
        "result": task.result_json or "null",
    }


def far_time(task: Task) -> UnreadableRecord:
    """What to raise for a task whose times no calendar has."""
    return UnreadableRecord(f"The record does not decode: {FAR_TIME}", task_id=task.id)


def error_record(task: Task | Attempt) -> dict[str, Any] | None:
    """What it failed with; ``None`` when it has not."""
    if task.error_class is None:
        return None
    return {"class": task.error_class, "message": task.error_message or "", "traceback": task.traceback}


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "outcome": attempt.outcome,
        "worker_id": attempt.worker_id,
        "queued_at": iso_or_none(attempt.queued_at),
        "started_at": iso(attempt.started_at),
        "ended_at": iso_or_none(attempt.ended_at),
        "error": error_record(attempt),
    }


def _log_line(line: LogLine) -> dict[str, Any]:
    return {"at": iso(line.at), "attempt": line.attempt, "message": line.message}
