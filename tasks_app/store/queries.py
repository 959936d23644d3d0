"""What the web, the shell client and the metrics read. Each method says how many round trips it costs."""

from __future__ import annotations

import re
from collections.abc import Sequence

import redis

from tasks_app.domain.api_key import EVERYWHERE, Reach
from tasks_app.domain.config import Config
from tasks_app.domain.errors import NotFound, UnreadableRecord
from tasks_app.domain.snapshot import AuditEntry, DeadLetter, DeadLetterGroup, Page, TaskFilter
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.submission import MAX_MOMENT_MS
from tasks_app.domain.task import Attempt, Task, TaskDetail, UnreadableTask
from tasks_app.store import codec
from tasks_app.store.cursor import ENTRY, decode_cursor, encode_cursor
from tasks_app.store.fleet import Fleet
from tasks_app.store.pages import TaskPages
from tasks_app.store.reader import Pipeline

MAX_GROUPS = 200
_AUDIT_SCAN = 2000
_SEEN_TOGETHER = 1000
_GROUP = re.compile(r"(?s)group:[0-9]{1,16}:.+")


class Queries(Fleet):
    """The read side. Every method raises ``StoreUnavailable`` when Redis cannot serve it."""

    def __init__(self, client: redis.Redis, config: Config) -> None:
        super().__init__(client, config)
        self._pages = TaskPages(client, config)

    def ping(self) -> None:
        """Ask whether the server answers. One round trip."""
        self._one("ping")

    def task(self, task_id: str) -> Task:
        """One task with its payload and result, without its history. One round trip.

        Raises:
            NotFound, UnreadableRecord: as their names say.
        """
        (values,) = self._all_of_any_kind(lambda pipe: pipe.hmget(self._keys.task(task_id), codec.DETAIL))
        return _task(task_id, values)

    def with_metadata(self, ids: Sequence[str]) -> list[Task | NotFound | UnreadableRecord]:
        """The tasks of ``ids`` in that order, as lists show them and with their metadata. One round trip."""
        names = (*codec.SUMMARY, "metadata")

        def read(pipe: Pipeline) -> None:
            for task_id in ids:
                pipe.hmget(self._keys.task(task_id), names)

        found: list[Task | NotFound | UnreadableRecord] = []
        for task_id, values in zip(ids, self._all_of_any_kind(read), strict=True):
            try:
                found.append(_task(task_id, values, names))
            except (NotFound, UnreadableRecord) as error:
                found.append(error)
        return found

    def detail(self, task_id: str) -> TaskDetail:
        """One task with its attempts and log lines, oldest first. One round trip. Raises as :meth:`task`."""

        def read(pipe: Pipeline) -> None:
            pipe.hmget(self._keys.task(task_id), codec.DETAIL)
            pipe.lrange(self._keys.attempts(task_id), 0, -1)
            pipe.lrange(self._keys.log(task_id), 0, -1)

        values, attempts, log = self._all_of_any_kind(read)
        task = _task(task_id, values)
        history = [codec.decode_attempt(text) for text in attempts or ()]
        return TaskDetail(task, _with_latest(task, history), [codec.decode_log_line(line) for line in log or ()])

    def tasks(self, where: TaskFilter, cursor: str | None = None, limit: int = 25) -> Page[Task | UnreadableTask]:
        """The tasks that match, newest first, without their large fields.

        Two round trips, two more with ``q``. A filter that no index serves on its own takes up to eight times two,
        looks at a bounded number of tasks, and may return a short page whose ``next`` goes on from there.

        Raises:
            InvalidCursor: ``cursor`` is not one of ours.
        """
        return self._pages.page(where, cursor, limit)

    def rows(self, ids: Sequence[str]) -> list[Task | UnreadableTask]:
        """The tasks of ``ids`` in that order, as lists show them, without those that are gone. One round trip."""
        return self._pages.rows(ids)

    def counts(self, queue: str | None = None, task_type: str | None = None) -> dict[TaskStatus, int]:
        """How many tasks are in each status: all, one queue's or one type's (not both). One round trip."""

        def read(pipe: Pipeline) -> None:
            for status in TaskStatus:
                if status is not TaskStatus.RUNNING:
                    pipe.zcard(self._keys.index(status, queue=queue, task_type=task_type))
                elif queue is not None:
                    pipe.hget(self._keys.running, f"q:{queue}")
                elif task_type is not None:
                    pipe.hget(self._keys.running, f"t:{task_type}")
                else:
                    pipe.zcard(self._keys.leases)

        return {status: int(count or 0) for status, count in zip(TaskStatus, self._all(read), strict=True)}

    def dead_letters(
        self,
        cursor: str | None = None,
        limit: int = 25,
        fingerprint: str | None = None,
        reach: Reach = EVERYWHERE,
    ) -> Page[DeadLetter]:
        """Dead letters, newest first; with ``fingerprint`` those of one cause. One or two round trips.

        With a ``reach`` they come by their tasks' birth, for what :meth:`tasks` costs; with a ``fingerprint`` as well,
        a page may be short although more follow.

        Raises:
            InvalidCursor: ``cursor`` is not one of ours.
        """
        if fingerprint is not None:
            return self._dead_letters_of(fingerprint, cursor, limit, reach)
        if not reach.everywhere:
            page = self.tasks(TaskFilter(status=TaskStatus.DEAD_LETTERED, reach=reach), cursor, limit)
            return Page([_dead_letter(task) for task in page.items if isinstance(task, Task)], page.next)
        top = f"({decode_cursor(cursor, ENTRY)}" if cursor else "+"
        entries = self._one("xrevrange", self._keys.dead_letters, top, "-", limit + 1)
        items = [codec.decode_dead_letter(entry, fields) for entry, fields in entries[:limit]]
        return Page(items, encode_cursor(items[-1].entry) if len(entries) > limit else None)

    def dead_letter_groups(self, limit: int = MAX_GROUPS) -> list[DeadLetterGroup]:
        """Dead letters by cause, the latest seen first. Two round trips."""
        return self.dead_letter_group_page(None, limit).items

    def dead_letter_group_page(self, cursor: str | None, limit: int) -> Page[DeadLetterGroup]:
        """The same in pages. A cause that is seen again meanwhile moves before the first. Two round trips.

        Raises:
            InvalidCursor: ``cursor`` is not one of ours.
        """
        top, after = str(MAX_MOMENT_MS), ""
        if cursor:
            _, top, after = decode_cursor(cursor, _GROUP).split(":", 2)
        # Those seen in the same millisecond stand by name, the last first; some were on the page before.
        most = limit + 1 + (_SEEN_TOGETHER if cursor else 0)
        found = [
            (codec.name(raw), int(seen))
            for raw, seen in self._one(
                "zrevrangebyscore", self._keys.fingerprints, top, "0", start=0, num=most, withscores=True
            )
        ]
        left = [(name, seen) for name, seen in found if not after or str(seen) != top or name < after]
        following = None
        if len(left) > limit:
            name, seen = left[limit - 1]
            following = encode_cursor(f"group:{seen}:{name}")
        return Page(self._with_fingerprints([name for name, _ in left[:limit]]), following)

    def dead_letter_group(self, fingerprint: str) -> DeadLetterGroup | None:
        """The dead letters of one cause, however long ago it was seen; ``None`` without any. One round trip."""
        return next(iter(self._with_fingerprints([fingerprint])), None)

    def dead_letter_causes(self) -> int:
        """How many causes the dead letters have. One round trip."""
        return int(self._one("zcard", self._keys.fingerprints))

    def audit(self, cursor: str | None = None, limit: int = 50, task_id: str | None = None) -> Page[AuditEntry]:
        """The audit, newest first; with ``task_id`` what its last 2,000 entries say of one task. One round trip.

        Raises:
            InvalidCursor: ``cursor`` is not one of ours.
        """
        top = f"({decode_cursor(cursor, ENTRY)}" if cursor else "+"
        count = _AUDIT_SCAN if task_id else limit + 1
        entries = self._one("xrevrange", self._keys.audit, top, "-", count)
        items = [codec.decode_audit(entry, fields) for entry, fields in entries]
        if task_id:
            return Page([item for item in items if item.task_id == task_id][:limit])
        return Page(items[:limit], encode_cursor(items[limit - 1].entry) if len(items) > limit else None)

    def _with_fingerprints(self, prints: Sequence[str]) -> list[DeadLetterGroup]:
        def read(pipe: Pipeline) -> None:
            pipe.time()
            for name in prints:
                pipe.hgetall(self._keys.fingerprint(name))
                pipe.zcard(self._keys.dead_index(name))

        if not prints:
            return []
        (seconds, _), *replies = self._all(read)
        return [
            codec.decode_dead_letter_group(name, record, count, seconds // 3600)
            for name, record, count in zip(prints, replies[::2], replies[1::2], strict=True)
            if count
        ]

    def _dead_letters_of(self, fingerprint: str, cursor: str | None, limit: int, reach: Reach) -> Page[DeadLetter]:
        top = f"({decode_cursor(cursor)}" if cursor else "+"
        index = self._keys.dead_index(fingerprint)
        ids = [codec.name(i) for i in self._one("zrevrangebylex", index, top, "-", start=0, num=limit + 1)]
        rows = self._pages.rows(ids[:limit])
        items = [
            _dead_letter(task, fingerprint) for task in rows if isinstance(task, Task) and reach.covers(task.queue)
        ]
        return Page(items, encode_cursor(ids[limit - 1]) if len(ids) > limit else None)


def _dead_letter(task: Task, fingerprint: str = "") -> DeadLetter:
    """What the entry in the stream says, from the record."""
    return DeadLetter(
        entry="",
        task_id=task.id,
        task_type=task.task_type,
        queue=task.queue,
        attempts=task.attempt,
        error_class=task.error_class or "",
        error_message=task.error_message or "",
        fingerprint=fingerprint or task.fingerprint or "",
        worker_id=task.worker_id or "",
        failed_at=task.finished_at or task.created_at,
    )


def _task(task_id: str, values: list[bytes | None] | None, names: Sequence[str] = codec.DETAIL) -> Task:
    if values is None:
        raise UnreadableRecord(codec.NO_HASH, task_id=task_id)
    if all(value is None for value in values):
        raise NotFound(f"There is no task {task_id}", task_id=task_id)
    return codec.decode_task(task_id, names, values)


def _with_latest(task: Task, history: list[Attempt]) -> list[Attempt]:
    """The history plus the attempt that only the record knows: the running one, or one that ended well or cancelled."""
    outcome = {
        TaskStatus.RUNNING: "running",
        TaskStatus.SUCCEEDED: "succeeded",
        TaskStatus.CANCELLED: "cancelled",
    }.get(task.status)
    if outcome is None or task.started_at is None:
        return history
    if task.status is TaskStatus.CANCELLED and history:
        # Cancelled while it waited: the record's start is that of an attempt which the history has already.
        last = history[-1]
        if last.started_at == task.started_at and last.outcome != "given_back":
            return history
    return [
        *history,
        Attempt(
            task.attempt, outcome, task.worker_id or "", task.started_at, task.finished_at, queued_at=task.enqueued_at
        ),
    ]
