"""Bulk actions by filter: their records, and the walk that works them off (docs/decisions/0014-operations.md)."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import replace

import redis

from tasks_app.domain.api_key import EVERYWHERE, Reach
from tasks_app.domain.config import Config
from tasks_app.domain.errors import (
    NotFound,
    OperationEnded,
    OperationRunning,
    TooManyOperations,
    UnreadableRecord,
    ValidationError,
)
from tasks_app.domain.operation import (
    TOO_MANY_FAIL,
    TRIALS,
    Operation,
    OperationState,
    Reckoning,
    Selection,
    statuses_of,
)
from tasks_app.domain.snapshot import Actor, Page
from tasks_app.domain.status import TERMINAL, TaskStatus
from tasks_app.domain.task import Task
from tasks_app.domain.transitions import REQUEUEABLE, Action
from tasks_app.store.commands import MAX_BATCH, Commands, Step
from tasks_app.store.cursor import decode_cursor, encode_cursor
from tasks_app.store.operation_filter import bounds, matches, may_be_told, needs_check, within
from tasks_app.store.operation_records import decode_operation
from tasks_app.store.pages import TaskPages
from tasks_app.store.reader import Pipeline, Reader
from tasks_app.store.scripts import MAX_OPERATING, Scripts

_LEASES = 20_000
"""Running tasks looked at a step: their set goes by leases, so a stretch of it has to be sorted out."""
_AMONG_RUNNING = b"running "
"""Opens the place of an operation that has all other tasks behind it: then a cursor of the set of leases, and an id."""
_LAST = _AMONG_RUNNING + b"end"


class Operations(Reader):
    """Every method raises ``StoreUnavailable`` when Redis cannot serve it."""

    def __init__(self, client: redis.Redis, config: Config) -> None:
        super().__init__(client, config)
        self._scripts = Scripts(client, config)
        self._commands = Commands(client, config)
        self._pages = TaskPages(client, config)
        self._looked_at = ""

    def reckon(self, action: Action, selection: Selection) -> Reckoning:
        """How many tasks it would be for, as of now. One or two round trips. Raises ValidationError."""
        statuses = statuses_of(action, selection)
        indexes = self._indexes(statuses, selection)
        low, high = bounds(selection, b"")

        def read(pipe: Pipeline) -> None:
            for index in indexes:
                pipe.zlexcount(index, low, high)
            if TaskStatus.RUNNING in statuses:
                pipe.zcard(self._keys.leases)

        return Reckoning(sum(self._all(read)), not needs_check(statuses, selection))

    def begin(self, action: Action, selection: Selection, actor: Actor, *, careful: bool = False) -> Operation:
        """Record an operation, for the leader to work off. Four round trips.

        ``careful``: a requeue that makes ``TRIALS`` first, and stops where too many of one fail again.

        Raises:
            ValidationError: the action is not for such tasks, or nothing that can be tried.
            OperationRunning: the same one has not ended yet.
            TooManyOperations: so many run.
        """
        if careful and action is not Action.REQUEUE:
            raise ValidationError({"careful": ["is for requeueing"]})
        seconds, microseconds = self._one("time")
        asked_for = f"{action} {selection.text}"
        before = min(selection.created_before or 1 << 48, seconds * 1000 + microseconds // 1000 + 1)
        bounded = replace(selection, created_before=before)
        reckoning = self.reckon(action, bounded)
        said = f"{action} {'' if reckoning.exact else 'some of '}{reckoning.total} {selection.words}".rstrip()
        said += " carefully" * careful
        fields: dict[str, str | int] = {
            "action": action,
            "selection": bounded.text,
            "total": reckoning.total,
            "exact": int(reckoning.exact),
            **({"trials": 0} if careful else {}),
        }
        values: list[str | int] = [value for pair in fields.items() for value in pair]
        tail = f"{8 + secrets.randbits(2):x}{secrets.randbits(60):015x}"
        word, found = self._scripts.run("begin", *actor.arguments, tail, asked_for, said, *values)
        operation_id = found.decode()
        if word == b"RUNNING":
            raise OperationRunning("The same operation runs already", operation_id=operation_id)
        if word == b"FULL":
            raise TooManyOperations(f"{MAX_OPERATING} operations run already; wait for one or abort one")
        return self.get(operation_id)

    def abort(self, operation_id: str, actor: Actor) -> None:
        """End an operation where it is. What it has done stays done; at most the step under way is still taken.

        Raises:
            NotFound: there is none. OperationEnded: too late.
        """
        word, state = self._conclude(operation_id, OperationState.ABORTED, actor, b"")
        if word == b"NOT_FOUND":
            raise _unknown(operation_id)
        if word == b"STALE":
            raise OperationEnded(f"The operation had {state.decode()} already", state=state.decode())

    def get(self, operation_id: str) -> Operation:
        """One operation. One round trip. Raises NotFound, UnreadableRecord."""
        record = self._one("hgetall", self._keys.operation(operation_id))
        if not record:
            raise _unknown(operation_id)
        return decode_operation(operation_id, record)

    def page(self, cursor: str | None = None, limit: int = 25, reach: Reach = EVERYWHERE) -> Page[Operation]:
        """Operations, newest first; with a ``reach`` those on its queues. Two round trips. Raises InvalidCursor."""
        top = f"({decode_cursor(cursor)}" if cursor else "+"
        ids = [_text(raw) for raw in self._one("zrevrangebylex", self._keys.operations, top, "-")]
        found = [
            operation
            for operation in self._records(ids)
            if reach.everywhere or (operation.selection.queue and reach.covers(operation.selection.queue))
        ]
        return Page(found[:limit], encode_cursor(found[limit - 1].id) if len(found) > limit else None)

    def run_for(self, seconds: float) -> bool:
        """Work on what runs, in turns, for about so long. True while something is left that need not wait.

        Two round trips, and three or four more a step.
        """
        deadline = time.monotonic() + seconds
        running = self._records([_text(raw) for raw in self._one("zrange", self._keys.operating, 0, -1)])
        # Where looking at those that wait takes all of the time, the others would never have their turn.
        running.sort(key=lambda operation: operation.id <= self._looked_at)
        while running:
            moved = []
            for operation in running:
                self._looked_at = operation.id
                if self.step(operation):
                    moved.append(operation.id)
                if time.monotonic() >= deadline:
                    return bool(moved) or not all(operation.trying for operation in running)
            running = [operation for operation in self._records(moved) if operation.runs]
        return False

    def step(self, operation: Operation) -> bool:
        """Take the operation one step of at most ``MAX_BATCH`` tasks further from where it stood.

        False when this changed nothing: it did not stand there any more, or waits for the tasks of its trial.
        """
        actor = Actor(operation.actor, operation.source, operation.request_id)
        if operation.trying:
            failed, open_ = self._tried(operation)
            if failed > TOO_MANY_FAIL * len(operation.trying):
                return self._end(operation, OperationState.STOPPED, actor, failed)
            if open_:
                return False
        statuses = statuses_of(operation.action, operation.selection)
        if operation.place == _LAST:
            return self._end(operation, OperationState.FINISHED, actor)
        if operation.place.startswith(_AMONG_RUNNING):
            ids, following = self._passed_by(operation)
            looked = len(ids)
        elif members := self._following(statuses, operation):
            ids, following, looked = [_text(member) for member in members], members[-1], len(members)
            if needs_check(statuses, operation.selection):
                ids = [row.id for row in self._pages.rows(ids) if matches(row, operation.selection)]
        elif TaskStatus.RUNNING in statuses:
            ids, following, looked = [], _AMONG_RUNNING + b"0 ", 0
        else:
            return self._end(operation, OperationState.FINISHED, actor)
        step = Step(operation.id, operation.place, following, looked)
        return self._commands.take_step(operation.action, ids, actor, step)

    def _tried(self, operation: Operation) -> tuple[int, int]:
        """How many of its trial have failed again, and how many have not ended. One round trip."""
        rows = [row for row in self._pages.rows(operation.trying) if isinstance(row, Task)]
        failed = sum(row.status in REQUEUEABLE for row in rows)
        return failed, sum(row.status not in TERMINAL for row in rows)

    def _end(self, operation: Operation, state: OperationState, actor: Actor, failed: int = 0) -> bool:
        word, _ = self._conclude(operation.id, state, actor, operation.place, failed)
        return word == b"OK"

    def _conclude(
        self, operation_id: str, state: OperationState, actor: Actor, place: bytes, failed: int = 0
    ) -> tuple[bytes, bytes]:
        word, was = self._scripts.run("conclude", *actor.arguments, operation_id, state, place, failed)
        return word, was

    def _records(self, ids: Sequence[str]) -> list[Operation]:
        """The operations of ``ids`` that are still kept and can be read."""

        def read(pipe: Pipeline) -> None:
            for operation_id in ids:
                pipe.hgetall(self._keys.operation(operation_id))

        found = []
        for operation_id, record in zip(ids, self._all_of_any_kind(read) if ids else [], strict=True):
            try:
                found += [decode_operation(operation_id, record)] if record else []
            except UnreadableRecord:
                continue  # somebody wrote to it by hand; by itself it is told as such
        return found

    def _indexes(self, statuses: Sequence[TaskStatus], selection: Selection) -> list[str]:
        if selection.fingerprint is not None:
            return [self._keys.dead_index(selection.fingerprint)]
        by_type = None if selection.queue is not None else selection.task_type
        return [
            self._keys.index(status, queue=selection.queue, task_type=by_type)
            for status in statuses
            if status is not TaskStatus.RUNNING
        ]

    def _passed_by(self, operation: Operation) -> tuple[list[str], bytes]:
        """Running tasks that nobody has told to stop yet, and the place after them.

        Among more than ``_LEASES`` the walk by id sees only some. A scan returns whatever stays in the set for as
        long as it goes on, however often the leases in it are renewed.
        """
        cursor, _, after = operation.place.removeprefix(_AMONG_RUNNING).partition(b" ")
        further, found = self._one("zscan", self._keys.leases, int(cursor), count=MAX_BATCH // 2)
        low, high = bounds(operation.selection, b"")
        # A scan may return more than it was asked for, and than a step takes: the rest is found again at its cursor.
        members = sorted(member for member, _ in found if member > after and within(member, low, high))
        batch = members[:MAX_BATCH]
        if len(members) > MAX_BATCH:
            place = _AMONG_RUNNING + cursor + b" " + batch[-1]
        else:
            place = _AMONG_RUNNING + b"%d " % further if further else _LAST
        rows = self._pages.rows([_text(member) for member in batch])
        return [row.id for row in rows if may_be_told(row) and matches(row, operation.selection)], place

    def _following(self, statuses: Sequence[TaskStatus], operation: Operation) -> list[bytes]:
        """The next ids above the operation's place, at one moment: one that moves between two reads could be lost."""
        low, high = bounds(operation.selection, operation.place)
        indexes = self._indexes(statuses, operation.selection)

        most = MAX_BATCH
        if operation.trials is not None and operation.trials < len(TRIALS):
            most = min(most, TRIALS[operation.trials])

        def read(pipe: Pipeline) -> None:
            for index in indexes:
                pipe.zrangebylex(index, low, high, start=0, num=most)
            if TaskStatus.RUNNING in statuses:
                pipe.zrange(self._keys.leases, 0, _LEASES - 1)

        replies = self._all(read, snapshot=True)
        found = {member for members in replies[: len(indexes)] for member in members}
        if len(replies) > len(indexes):
            found |= {member for member in replies[-1] if within(member, low, high)}
        return sorted(found)[:most]


def _unknown(operation_id: str) -> NotFound:
    return NotFound(f"There is no operation {operation_id}")


def _text(member: bytes) -> str:
    return member.decode(errors="replace")
