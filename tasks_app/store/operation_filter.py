"""Which tasks an operation's filter means: as bounds of their ids, and by their records."""

from __future__ import annotations

from collections.abc import Sequence

from tasks_app.domain.operation import Selection
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Task, UnreadableTask


def bounds(selection: Selection, place: bytes) -> tuple[bytes, bytes]:
    """Lexical bounds of ids: they open with twelve hex digits of their birth's milliseconds."""
    before = selection.created_before
    high = b"+" if before is None else f"({max(0, before):012x}".encode()
    if place:
        return b"(" + place, high
    after = selection.created_after
    return b"-" if after is None else f"[{max(0, after):012x}".encode(), high


def within(member: bytes, low: bytes, high: bytes) -> bool:
    """Whether a running task lies within what :func:`bounds` returned, as the indexes' ranges take it."""
    above = low == b"-" or (member >= low[1:] if low[:1] == b"[" else member > low[1:])
    return above and (high == b"+" or member < high[1:])


def may_be_told(row: Task | UnreadableTask) -> bool:
    """Whether it runs and nobody has told it to stop."""
    return isinstance(row, Task) and row.status is TaskStatus.RUNNING and not row.cancel_requested


def needs_check(statuses: Sequence[TaskStatus], selection: Selection) -> bool:
    """Whether the indexes hold tasks that the filter leaves out, so that records have to be read."""
    narrowed = [selection.queue, selection.task_type, selection.fingerprint]
    given = sum(value is not None for value in narrowed)
    # Running tasks stand in one set without regard to queue, type and birth.
    apart = TaskStatus.RUNNING in statuses and (given or selection.created_after is not None)
    return bool(selection.worker_id or given > 1 or apart)


def matches(row: Task | UnreadableTask, selection: Selection) -> bool:
    """Whether a record is what the filter asks for, its birth aside."""
    return isinstance(row, Task) and all(
        wanted is None or wanted == found
        for wanted, found in (
            (selection.queue, row.queue),
            (selection.task_type, row.task_type),
            (selection.worker_id, row.worker_id),
            (selection.fingerprint, row.fingerprint),
        )
    )
