"""The JSON of the API. Payloads, metadata and results are spliced in as the text they are, never decoded and rewritten.

What is masked on the console's pages, in logs and in events (``DTQ_REDACT_KEYS``) is not masked here: a client of the
API gets back exactly the payload it sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from tasks_app.domain.operation import Operation
from tasks_app.domain.snapshot import AuditEntry, DeadLetter, DeadLetterGroup, Pause, QueueInfo, WorkerInfo
from tasks_app.domain.task import Task, TaskDetail, UnreadableTask
from tasks_app.domain.wire import (
    FAR_TIME,
    detail_record,
    error_record,
    far_time,
    iso,
    iso_or_none,
    task_record,
    texts_of,
)

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_OF_THE_HEALTH_CHECK = ("turned_at", "idle_since", "task_types")


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
        return encode(task_record(task))
    except OverflowError:
        return encode({"id": task.id, "unreadable": FAR_TIME})


def task_text(task: Task, more: dict[str, Any] | None = None) -> JsonText:
    """A whole task; ``more`` adds members.

    Raises:
        UnreadableRecord: a time is outside the years 1 to 9999.
    """
    try:
        record = task_record(task) | (more or {})
    except OverflowError as error:
        raise far_time(task) from error
    return _with_texts(record, task)


def detail_text(detail: TaskDetail) -> JsonText:
    """A whole task with its attempts and log lines, oldest first.

    Raises:
        UnreadableRecord: a time is outside the years 1 to 9999.
    """
    return _with_texts(detail_record(detail), detail.task)


def result_text(task: Task) -> JsonText:
    """What a waiter for the end wants: ``{id, status, finished, error, result}``."""
    finished = task.status.is_terminal
    head = encode({"id": task.id, "status": task.status, "finished": finished, "error": error_record(task)})
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


def _with_texts(record: dict[str, Any], task: Task) -> JsonText:
    texts = "".join(f',"{name}":{text}' for name, text in texts_of(task).items())
    return JsonText(f"{encode(record)[:-1]}{texts}}}")


def _pause(pause: Pause) -> dict[str, Any]:
    return {"by": pause.by, "at": iso(pause.at), "reason": pause.reason, "until": iso_or_none(pause.until)}
