"""Pages of tasks, newest first, by id: no task is skipped or shown twice while others come and go.

Ids sort by birth and never change, so a page is "the next ids below this one" in one or more indexes, merged.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import islice

from tasks_app.domain.snapshot import Page, TaskFilter
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Task, UnreadableTask
from tasks_app.store import codec
from tasks_app.store.cursor import ID, decode_cursor, encode_cursor
from tasks_app.store.reader import Pipeline, Reader

Row = Task | UnreadableTask
Queues = Sequence[str | None]

_ROUNDS = 8
_CHUNK = 250
"""Tasks looked at per round when rows have to be checked one by one; eight rounds bound the search to 2,000."""
_FAN = 8
"""Queues whose indexes are read side by side; a reach of more is checked row by row."""
_LEASES = 20_000
"""Running tasks looked at: their set is in the order of their leases, so a page of them has to be sorted out."""


class TaskPages(Reader):
    """Lists of tasks under any :class:`TaskFilter`."""

    def page(self, where: TaskFilter, cursor: str | None, limit: int) -> Page[Row]:
        """Up to ``limit`` rows below ``cursor``. See :meth:`Queries.tasks`."""
        top, bottom = _bounds(where, decode_cursor(cursor) if cursor else None)
        queues = self._queues(where)
        if where.q:
            exact = self._searched(where)
            if exact is not None:
                return Page([row for row in self.rows(exact) if _matches(row, where)])
            prefix = where.q.replace("-", "").lower()
            bottom = max(bottom, f"[{prefix}")
            top = min(top, f"({prefix}g", key=_upper)  # g follows the last hex digit
        found: list[Row] = []
        chunk = _CHUNK if _needs_check(where, queues) else limit + 1
        for _ in range(_ROUNDS):
            ids = self._ids_below(where, queues, top, bottom, chunk)
            found += [row for row in self.rows(ids) if _matches(row, where)]
            if len(found) > limit:
                return Page(found[:limit], encode_cursor(found[limit - 1].id))
            if len(ids) < chunk:
                return Page(found)
            top = f"({ids[-1]}"
        return Page(found, encode_cursor(top[1:]))

    def rows(self, ids: Sequence[str]) -> list[Row]:
        """The records of ``ids`` in that order, without those that have gone. One round trip."""
        if not ids:
            return []

        def read(pipe: Pipeline) -> None:
            for task_id in ids:
                pipe.hmget(self._keys.task(task_id), codec.SUMMARY)

        decoded = (codec.decode_row(i, values) for i, values in zip(ids, self._all_of_any_kind(read), strict=True))
        return [row for row in decoded if row is not None]

    def _queues(self, where: TaskFilter) -> Queues:
        """The queues whose indexes hold what is asked for, ``[None]`` for the indexes of all queues together."""
        if where.queue is not None or where.reach.everywhere:
            return [where.queue]
        names = [codec.name(raw) for raw in self._one("smembers", self._keys.queues)]
        covered = [name for name in names if where.reach.covers(name)]
        return covered if len(covered) <= _FAN else [None]

    def _ids_below(self, where: TaskFilter, queues: Queues, top: str, bottom: str, count: int) -> list[str]:
        statuses = [where.status] if where.status else list(TaskStatus)
        indexed = [status for status in statuses if status is not TaskStatus.RUNNING]
        # One index narrows by queue or by type; when both are asked for, the rows are checked for the type.
        indexes = [
            self._keys.index(status, queue=queue, task_type=where.task_type if queue is None else None)
            for queue in queues
            for status in indexed
        ]

        def read(pipe: Pipeline) -> None:
            for index in indexes:
                pipe.zrevrangebylex(index, top, bottom, start=0, num=count)
            if TaskStatus.RUNNING in statuses:
                pipe.zrange(self._keys.leases, 0, _LEASES - 1)

        # At one moment: a task that moves between two of these reads would be seen twice or not at all.
        replies = self._all(read, snapshot=True)
        sources = [[task_id.decode(errors="replace") for task_id in members] for members in replies[: len(indexes)]]
        if len(replies) > len(indexes):
            running = (task_id.decode(errors="replace") for task_id in replies[-1])
            sources.append(sorted((i for i in running if _within(i, top, bottom)), reverse=True)[:count])
        return list(islice(heapq.merge(*sources, reverse=True), count))

    def _searched(self, where: TaskFilter) -> list[str] | None:
        """The ids that ``q`` names exactly, as id or idempotency key; ``None`` when it may be an id's start."""
        q = where.q or ""
        compact = q.replace("-", "").lower()
        found = self._held_by(q, where.queue)
        if not ID.fullmatch(compact):
            return found
        if len(compact) == 32:
            return sorted({*found, compact}, reverse=True)
        return found or None

    def _held_by(self, key: str, queue: str | None) -> list[str]:
        names = [queue] if queue else [codec.name(raw) for raw in self._one("smembers", self._keys.queues)]
        if not names:
            return []
        holders = self._one("mget", [self._keys.idempotency(name, key) for name in names])
        ids = (codec.decode_holder(text) for text in holders if text)
        return sorted((task_id for task_id in ids if task_id), reverse=True)


def _bounds(where: TaskFilter, below: str | None) -> tuple[str, str]:
    """Lexical bounds of ids: they open with twelve hex digits of their birth's milliseconds."""
    top, bottom = "+", "-"
    if where.created_before is not None:
        top = f"({max(0, where.created_before):012x}"
    if below is not None:
        top = min(top, f"({below}", key=_upper)
    if where.created_after is not None:
        bottom = f"[{max(0, where.created_after):012x}"
    return top, bottom


def _upper(bound: str) -> str:
    return "\uffff" if bound == "+" else bound[1:]


def _within(task_id: str, top: str, bottom: str) -> bool:
    return task_id < _upper(top) and (bottom == "-" or task_id >= bottom[1:])


def _needs_check(where: TaskFilter, queues: Queues) -> bool:
    by_queue = queues != [None]
    narrowed = by_queue or where.task_type is not None
    # Running tasks stand in one set without regard to queue and type.
    return bool(
        where.worker_id
        or (by_queue and where.task_type is not None)
        or (narrowed and where.status in (None, TaskStatus.RUNNING))
        or not (by_queue or where.reach.everywhere)
    )


def _matches(row: Row, where: TaskFilter) -> bool:
    if isinstance(row, UnreadableTask):
        shown = where.worker_id is None and where.q is None and not (where.queue and where.task_type)
        return shown and where.reach.everywhere
    return (
        (where.status is None or row.status is where.status)
        and (where.queue is None or row.queue == where.queue)
        and where.reach.covers(row.queue)
        and (where.task_type is None or row.task_type == where.task_type)
        and (where.worker_id is None or row.worker_id == where.worker_id)
        and (where.created_after is None or row.created_at >= where.created_after)
        and (where.created_before is None or row.created_at < where.created_before)
    )
