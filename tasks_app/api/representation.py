"""The JSON of the API. Payloads, metadata and results are spliced in as the text they are, never decoded and rewritten.

What is masked on the console's pages, in logs and in events (``DTQ_REDACT_KEYS``) is not masked here: a client of the
API gets back exactly the payload it sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from tasks_app.api.times import iso, iso_or_none
from tasks_app.domain.errors import UnreadableRecord
from tasks_app.domain.operation import Operation
from tasks_app.domain.snapshot import AuditEntry, DeadLetter, DeadLetterGroup, Pause, QueueInfo, WorkerInfo
from tasks_app.domain.task import Attempt, LogLine, Task, TaskDetail, UnreadableTask

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_OF_THE_HEALTH_CHECK = ("turned_at", "idle_since", "task_types")
_FAR_TIME = "a time is outside the years 1 to 9999"


class JsonText(str):
    """Text that is JSON already and goes out as it is."""

    __slots__ = ()


def encode(value: Any) -> str:
    """Compact JSON with every character as it is."""
    return _ENCODER.encode(value)


def listing(texts: Iterable[str], following: str | None) -> JsonText:
    """``{"items": [...], "next": ...}`` from the items' JSON texts and the next page's cursor."""
    return JsonText(f'{{"items":[{",".join(texts)}],"next":{encode(following)}}}')


def summary_text(task: Task | UnreadableTask) -> str:
    """A task as lists show it: without payload, metadata, result and traceback."""
    if isinstance(task, UnreadableTask):
        return encode({"id": task.id, "unreadable": task.reason})
    try:
        return encode(_summary(task))
    except OverflowError:
        return encode({"id": task.id, "unreadable": _FAR_TIME})


def task_text(task: Task, more: dict[str, Any] | None = None) -> JsonText:
    """A whole task; ``more`` adds members.

    Raises:
        UnreadableRecord: a time is outside the years 1 to 9999.
    """
    try:
        head = encode(_summary(task) | (more or {}))
    except OverflowError as error:
        raise _unreadable(task) from error
    payload, metadata, result = task.payload_json or "{}", task.metadata_json or "{}", task.result_json or "null"
    return JsonText(f'{head[:-1]},"payload":{payload},"metadata":{metadata},"result":{result}}}')


def detail_text(detail: TaskDetail) -> JsonText:
    """A whole task with its attempts and log lines, oldest first.

    Raises:
        UnreadableRecord: a time is outside the years 1 to 9999.
    """
    try:
        history = {"attempts": [*map(_attempt, detail.attempts)], "log": [*map(_log_line, detail.log)]}
    except OverflowError as error:
        raise _unreadable(detail.task) from error
    return task_text(detail.task, history)


def result_text(task: Task) -> JsonText:
    """What a waiter for the end wants: ``{id, status, finished, error, result}``."""
    head = encode({"id": task.id, "status": task.status, "finished": task.status.is_terminal, "error": _error(task)})
    return JsonText(f'{head[:-1]},"result":{task.result_json or "null"}}}')


def queue_body(queue: QueueInfo) -> dict[str, Any]:
    """A queue's counts and pause; ``bands`` maps priorities to waiting tasks and is empty in lists."""
    return {
        "name": queue.name,
        "queued": queue.queued,
        "pending": queue.pending,
        "retrying": queue.retrying,
        "running": queue.running,
        "dead_lettered": queue.dead_lettered,
        "oldest_at": iso_or_none(queue.oldest_at),
        "paused": None if queue.pause is None else _pause(queue.pause),
        "bands": {str(priority): count for priority, count in queue.bands.items()},
    }


def worker_body(worker: WorkerInfo) -> dict[str, Any]:
    """A worker's last heartbeat."""
    body = asdict(worker)
    for inner in _OF_THE_HEALTH_CHECK:
        del body[inner]
    body["started_at"], body["seen_at"] = iso(worker.started_at), iso(worker.seen_at)
    if worker.told is not None:
        body["told"]["at"] = iso(worker.told.at)
    return body


def dead_letter_body(letter: DeadLetter) -> dict[str, Any]:
    """An entry of the dead letters."""
    body = asdict(letter)
    body["failed_at"] = iso(letter.failed_at)
    return body


def dead_letter_group_body(group: DeadLetterGroup) -> dict[str, Any]:
    """Dead letters that failed alike."""
    body = asdict(group)
    for name in ("first_seen", "last_seen", "current_hour"):
        body[name] = iso(body[name])
    return body


def audit_body(entry: AuditEntry) -> dict[str, Any]:
    """Who did what to what."""
    body = asdict(entry)
    body["at"] = iso(entry.at)
    return body


def operation_body(operation: Operation, *, leader: bool) -> dict[str, Any]:
    """A bulk action as it stands; ``leader``: whether somebody is there to go on with it."""
    chosen = asdict(operation.selection)
    for name in ("created_after", "created_before"):
        chosen[name] = iso_or_none(chosen[name])
    return {
        "id": operation.id,
        "action": operation.action,
        "filter": {name: value for name, value in chosen.items() if value is not None},
        "state": operation.state,
        "total": operation.reckoning.total,
        "exact": operation.reckoning.exact,
        "looked": operation.looked,
        "done": operation.done,
        "told": operation.told,
        "skipped": dict(operation.skipped),
        "careful": operation.trials is not None,
        "trying": len(operation.trying),
        "failed": operation.failed,
        "actor": operation.actor,
        "created_at": iso(operation.created_at),
        "ended_at": iso_or_none(operation.ended_at),
        "ended_by": operation.ended_by,
        "waits_for_scheduler": operation.runs and not leader,
    }


def encoded(bodies: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Each body as JSON text."""
    return map(encode, bodies)


def _summary(task: Task) -> dict[str, Any]:
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
        "error": _error(task),
        "progress": {"fraction": task.progress, "note": task.progress_note} if has_progress else None,
    }


def _error(task: Task | Attempt) -> dict[str, Any] | None:
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
        "error": _error(attempt),
    }


def _log_line(line: LogLine) -> dict[str, Any]:
    return {"at": iso(line.at), "attempt": line.attempt, "message": line.message}


def _pause(pause: Pause) -> dict[str, Any]:
    return {"by": pause.by, "at": iso(pause.at), "reason": pause.reason, "until": iso_or_none(pause.until)}


def _unreadable(task: Task) -> UnreadableRecord:
    return UnreadableRecord(f"The record does not decode: {_FAR_TIME}", task_id=task.id)
