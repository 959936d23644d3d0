"""Between Redis' bytes and the domain's shapes. A record that does not decode raises instead of guessing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tasks_app.domain.errors import UnreadableRecord
from tasks_app.domain.snapshot import AuditEntry, DeadLetter, DeadLetterGroup, Pause
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.submission import MAX_MOMENT_MS, QUEUE_PATTERN
from tasks_app.domain.task import Attempt, LogLine, Task, UnreadableTask
from tasks_app.domain.wish import STANDING, Told, Wish

_MOST_DIGITS = 15
_HOURS = 24

SUMMARY = (
    "status",
    "task_type",
    "queue",
    "priority",
    "attempt",
    "max_attempts",
    "timeout_ms",
    "created_at",
    "enqueued_at",
    "started_at",
    "finished_at",
    "due_at",
    "expires_at",
    "worker_id",
    "error_class",
    "error_message",
    "fingerprint",
    "idempotency_key",
    "cancel_requested",
    "give_backs",
    "requeues",
    "progress",
    "progress_note",
)
"""The fields a list reads: all but the ones that can be large."""

DETAIL = (*SUMMARY, "payload", "metadata", "result", "traceback")

NO_HASH = "The key of the record holds something else"
_REQUIRED = ("status", "task_type", "queue", "priority", "attempt", "max_attempts", "timeout_ms", "created_at")


def decode_task(task_id: str, names: Sequence[str], values: Sequence[bytes | None]) -> Task:
    """Build a task from ``HMGET`` values.

    Raises:
        UnreadableRecord: a required field is missing, a number is none, the text is not UTF-8, or the JSON is broken.
    """
    try:
        fields = {name: value.decode() for name, value in zip(names, values, strict=True) if value is not None}
        missing = [name for name in _REQUIRED if name not in fields]
        if missing:
            raise UnreadableRecord(f"Fields are missing: {', '.join(missing)}", task_id=task_id)
        if QUEUE_PATTERN.fullmatch(fields["queue"]) is None:
            raise UnreadableRecord("What stands for its queue is no name of one", task_id=task_id)
        full = "payload" in names
        for name in ("payload", "result"):
            if name in fields:
                json.loads(fields[name])
        if not isinstance(json.loads(fields.get("metadata", "{}")), dict):
            raise UnreadableRecord("The metadata is no JSON object", task_id=task_id)
        if full and "payload" not in fields:
            raise UnreadableRecord("Fields are missing: payload", task_id=task_id)
        return Task(
            id=task_id,
            task_type=fields["task_type"],
            queue=fields["queue"],
            priority=int(fields["priority"]),
            status=TaskStatus(fields["status"]),
            attempt=int(fields["attempt"]),
            max_attempts=int(fields["max_attempts"]),
            timeout_ms=int(fields["timeout_ms"]),
            created_at=int(fields["created_at"]),
            payload_json=fields.get("payload"),
            metadata_json=fields.get("metadata", "{}") if "metadata" in names else None,
            result_json=fields.get("result"),
            enqueued_at=_integer(fields, "enqueued_at"),
            started_at=_integer(fields, "started_at"),
            finished_at=_integer(fields, "finished_at"),
            due_at=_integer(fields, "due_at"),
            expires_at=_integer(fields, "expires_at"),
            worker_id=fields.get("worker_id"),
            error_class=fields.get("error_class"),
            error_message=fields.get("error_message"),
            traceback=fields.get("traceback") or None,
            fingerprint=fields.get("fingerprint"),
            idempotency_key=fields.get("idempotency_key"),
            cancel_requested="cancel_requested" in fields,
            give_backs=int(fields.get("give_backs", 0)),
            requeues=int(fields.get("requeues", 0)),
            progress=float(fields["progress"]) if "progress" in fields else None,
            progress_note=fields.get("progress_note") or None,
        )
    except UnicodeDecodeError as error:
        raise UnreadableRecord("The record is not UTF-8", task_id=task_id) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableRecord(f"The record does not decode: {error}", task_id=task_id) from error


def decode_row(task_id: str, values: Sequence[bytes | None] | None) -> Task | UnreadableTask | None:
    """A list's row from ``SUMMARY`` values; ``None`` when the record has gone since its id was read."""
    if values is None:
        return UnreadableTask(task_id, NO_HASH)
    if all(value is None for value in values):
        return None
    try:
        return decode_task(task_id, SUMMARY, values)
    except UnreadableRecord as error:
        return UnreadableTask(task_id, error.message)


def decode_attempt(text: bytes) -> Attempt:
    """An element of a task's attempts list; a damaged one reads as a failed attempt that says so."""
    try:
        raw = json.loads(text)
        return Attempt(
            number=int(raw["number"]),
            outcome=raw["outcome"],
            worker_id=raw["worker_id"],
            started_at=int(raw["started_at"]),
            ended_at=int(raw["ended_at"]),
            error_class=raw.get("error_class") or None,
            error_message=raw.get("error_message") or None,
            traceback=raw.get("traceback") or None,
            queued_at=moment(raw.get("queued_at")) or None,
        )
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return Attempt(0, "failed", "", 0, 0, "UnreadableRecord", "The entry of this attempt is damaged")


def decode_log_line(text: bytes) -> LogLine:
    """An element of a task's log: ``<ms> <attempt> <message>``; a damaged one is all message."""
    line = text.decode(errors="replace")
    at, _, rest = line.partition(" ")
    attempt, _, message = rest.partition(" ")
    if at.isdecimal() and attempt.isdecimal():
        return LogLine(moment(at), number(attempt), message)
    return LogLine(0, 0, line)


def decode_pause(text: bytes | None) -> Pause | None:
    """A queue's pause. A damaged one still pauses the queue, so it is shown, without what cannot be read."""
    if text is None:
        return None
    try:
        raw = json.loads(text)
        until = moment(float(raw.get("until") or 0))
        return Pause(str(raw["by"]), moment(float(raw["at"])), str(raw.get("reason", "")), until or None)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return Pause(by="", at=0, reason="(unreadable)")


def decode_told(fields: Mapping[bytes, bytes]) -> Told | None:
    """The wish that stands for a worker; none when it is no wish, which the worker does not follow either."""
    texts = _texts(fields)
    wish = texts.get("wish")
    return Told(Wish(wish), texts.get("by", ""), moment(texts.get("at"))) if wish in STANDING else None


def decode_running(text: str) -> tuple[str, ...]:
    """The ids in a worker's heartbeat; none when they do not decode."""
    try:
        ids = json.loads(text)
    except ValueError:
        return ()
    return tuple(map(str, ids)) if isinstance(ids, list) else ()


def decode_dead_letter(entry: bytes, fields: Mapping[bytes, bytes]) -> DeadLetter:
    """An entry of the dead-letter stream; what is missing reads as empty."""
    texts = _texts(fields)
    return DeadLetter(
        entry=entry.decode(),
        task_id=texts.get("task_id", ""),
        task_type=texts.get("task_type", ""),
        queue=texts.get("queue", ""),
        attempts=number(texts.get("attempts")),
        error_class=texts.get("error_class", ""),
        error_message=texts.get("error_message", ""),
        fingerprint=texts.get("fingerprint", ""),
        worker_id=texts.get("worker_id", ""),
        failed_at=moment(texts.get("failed_at")) or entry_ms(entry),
    )


def decode_dead_letter_group(fingerprint: str, fields: Mapping[bytes, bytes], count: int, hour: int) -> DeadLetterGroup:
    """What ``count`` dead letters have in common, as of an hour of the epoch."""
    texts = _texts(fields)
    hourly = []
    for past in range(hour - _HOURS + 1, hour + 1):
        noted, _, added = texts.get(f"h{past % _HOURS}", "").partition(" ")
        hourly.append(number(added) if noted == str(past) else 0)
    return DeadLetterGroup(
        fingerprint=fingerprint,
        task_type=texts.get("task_type", ""),
        error_class=texts.get("error_class", ""),
        error_message=texts.get("error_message", ""),
        count=count,
        first_seen=moment(texts.get("first_seen")),
        last_seen=moment(texts.get("last_seen")),
        hourly=tuple(hourly),
        current_hour=hour * 3_600_000,
    )


def decode_audit(entry: bytes, fields: Mapping[bytes, bytes]) -> AuditEntry:
    """An entry of the audit stream."""
    texts = _texts(fields)
    return AuditEntry(
        entry=entry.decode(),
        at=moment(texts.get("ts")) or entry_ms(entry),
        actor=texts.get("actor", ""),
        action=texts.get("action", ""),
        target=texts.get("target", ""),
        task_id=texts.get("task_id", ""),
        source=texts.get("source", ""),
        request_id=texts.get("request_id", ""),
        detail=texts.get("detail", ""),
    )


def decode_holder(text: bytes) -> str | None:
    """The task id in an idempotency record; ``None`` when the record is damaged, so that the key counts as free."""
    try:
        task_id = json.loads(text)["task_id"]
    except (ValueError, LookupError, TypeError):
        return None
    return task_id if isinstance(task_id, str) else None


def entry_ms(entry: bytes) -> int:
    """The milliseconds in a stream entry's id."""
    return moment(entry.split(b"-")[0])


def _texts(fields: Mapping[Any, Any]) -> dict[str, str]:
    return {name.decode(errors="replace"): value.decode(errors="replace") for name, value in fields.items()}


def _integer(fields: Mapping[str, str], name: str) -> int | None:
    return int(fields[name]) if name in fields else None


def number(raw: str | bytes | float | None) -> int:
    """A whole number from a field, a value or a score; 0 when it is none that the queue could have written."""
    if isinstance(raw, bytes):  # first, since a claim reads four of them a task
        return int(raw) if raw.isdigit() and len(raw) <= _MOST_DIGITS else 0
    if isinstance(raw, int | float):
        return int(raw) if 0 <= raw < 10**_MOST_DIGITS else 0
    return int(raw) if raw and len(raw) <= _MOST_DIGITS and raw.isdecimal() else 0


def moment(raw: str | bytes | float | None) -> int:
    """Epoch milliseconds likewise; 0 as well when they lie beyond the calendar."""
    ms = number(raw)
    return ms if ms <= MAX_MOMENT_MS else 0


def name(raw: bytes) -> str:
    """A name from a set or an index. One that is no text stays one that nothing else has."""
    return raw.decode(errors="replace")
