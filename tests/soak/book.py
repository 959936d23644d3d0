"""Who was accepted, and how each ended: kept outside Redis, filled by asking dtq until every task has ended."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tasks_app.domain.errors import NotFound, StoreUnavailable
from tasks_app.domain.snapshot import TaskFilter
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Task
from tasks_app.store.queries import Queries
from tests.soak.kinds import KINDS

Requeue = Callable[[str], None]
"""Repairs the cause of a death and asks for the task back; asked again while the task is dead."""

Found = Callable[[str, str], None]
CHUNK = 500
SETTLING_S = 12.0
"""A submission whose answer was lost is looked for so long after it: longer than anything waits for Redis."""


@dataclass(slots=True)
class Accepted:
    """A task that dtq has answered for. ``at_least``: no start before, in epoch seconds."""

    kind: str
    at_least: float = 0.0
    status: TaskStatus | None = None
    requeues: int = 0


@dataclass(slots=True)
class Unanswered:
    """A submission of which nobody knows whether it was stored; ``until`` is when its client gave up."""

    kind: str
    since: float
    until: float


@dataclass
class Book:
    """Safe from several threads."""

    tasks: dict[str, Accepted] = field(default_factory=dict)
    unanswered: dict[int, Unanswered] = field(default_factory=dict)
    answers: Counter[str] = field(default_factory=Counter)
    found: int = 0
    not_stored: int = 0
    vanished: list[str] = field(default_factory=list)
    disputed: list[str] = field(default_factory=list)
    """Idempotency keys for which more than one task was accepted, and other answers that contradict each other."""
    _open: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def accept(self, task_id: str, kind: str, at_least: float = 0.0) -> None:
        """The task was accepted, and must not start before ``at_least``."""
        with self._lock:
            if task_id in self.tasks:
                self.disputed.append(f"{task_id} accepted twice")
            self.tasks[task_id] = Accepted(kind, at_least)
            self._open.add(task_id)

    def lose_answer(self, serial: int, kind: str, since: float) -> None:
        """Something was submitted at ``since``, and no answer came."""
        with self._lock:
            self.unanswered[serial] = Unanswered(kind, since, time.time())

    def note(self, answer: str) -> None:
        """Count an answer of any request."""
        with self._lock:
            self.answers[answer] += 1

    def dispute(self, text: str) -> None:
        """Note an answer that must not be."""
        with self._lock:
            self.disputed.append(text)

    @property
    def open(self) -> int:
        """How many tasks have not been seen to end, unanswered submissions included."""
        with self._lock:
            return len(self._open) + len(self.unanswered)

    def audit(self, queries: Queries) -> list[str]:
        """Ask for every task that has not ended. Returns the dead ones that their kind wants repaired and requeued."""
        with self._lock:
            ids = list(self._open)
        dead: list[str] = []
        for start in range(0, len(ids), CHUNK):
            chunk = ids[start : start + CHUNK]
            rows = {row.id: row for row in queries.rows(chunk)}
            for task_id in chunk:
                self._look_at(task_id, rows.get(task_id), dead)
        return dead

    def _look_at(self, task_id: str, row: object, dead: list[str]) -> None:
        entry = self.tasks[task_id]
        if row is None:
            self.vanished.append(f"{task_id} ({entry.kind})")
        elif not isinstance(row, Task) or not row.status.is_terminal:
            return
        elif row.status is TaskStatus.DEAD_LETTERED and KINDS[entry.kind].repaired:
            dead.append(task_id)
            return
        else:
            entry.status, entry.requeues = row.status, row.requeues
        self.close(task_id)

    def close(self, task_id: str) -> None:
        """Ask for the task no more."""
        with self._lock:
            self._open.discard(task_id)

    def settle(self, queries: Queries) -> list[tuple[str, str]]:
        """Look for what may have been stored although nobody was told. Returns what was found: id and kind."""
        with self._lock:
            due = {n: lost for n, lost in self.unanswered.items() if time.time() > lost.until + SETTLING_S}
        found: list[tuple[str, str]] = []
        if not due:
            return found
        serials = _stored(
            queries,
            min(lost.since for lost in due.values()) - 1,
            max(lost.until for lost in due.values()) + SETTLING_S,
        )
        for serial, lost in due.items():
            if serial in serials:
                self.found += 1
                self.accept(serials[serial], lost.kind)
                found.append((serials[serial], lost.kind))
            else:
                self.not_stored += 1
            with self._lock:
                del self.unanswered[serial]
        return found


def _stored(queries: Queries, since: float, until: float) -> dict[int, str]:
    """The ids of the tasks born then, by the serial numbers in their payloads."""
    found: dict[int, str] = {}
    where = TaskFilter(created_after=int(since * 1000), created_before=int(until * 1000))
    cursor = None
    while True:
        page = queries.tasks(where, cursor, CHUNK)
        for row in page.items:
            try:
                payload = queries.task(row.id).payload_json
            except NotFound:
                continue  # its retention was over: it is older than what is looked for
            found[json.loads(payload or "{}").get("n", -1)] = row.id
        cursor = page.next
        if cursor is None:
            return found


class Auditor(threading.Thread):
    """Audits the book every ``every_s``. What is dead and to be repaired goes to ``requeue``, what was stored without
    an answer to ``found``.
    """

    def __init__(self, book: Book, queries: Queries, requeue: Requeue, found: Found, every_s: float = 2.0) -> None:
        super().__init__(name="auditor", daemon=True)
        self._book, self._queries, self._requeue, self._found = book, queries, requeue, found
        self._every_s = every_s
        self.stopping = threading.Event()
        self.failure: Exception | None = None

    def run(self) -> None:
        """Until ``stopping``; what goes wrong but for Redis being away ends it and is kept in ``failure``."""
        try:
            while not self.stopping.wait(self._every_s):
                try:
                    for task_id in self._book.audit(self._queries):
                        self._requeue(task_id)
                    for task_id, kind in self._book.settle(self._queries):
                        self._found(task_id, kind)
                except StoreUnavailable:
                    self._book.note("auditor: no Redis")
        except Exception as error:  # noqa: BLE001 - raised again by whoever waits for the soak's end
            self.failure = error
