"""What changes tasks and queues from outside a worker. Each method is one script call unless it says otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from tasks_app.domain import strict_json
from tasks_app.domain.errors import (
    CancelRequested,
    DtqError,
    IdempotencyConflict,
    MalformedJson,
    NotFound,
    TaskFinished,
    UnreadableRecord,
    ValidationError,
    WrongStatus,
)
from tasks_app.domain.snapshot import Actor
from tasks_app.domain.submission import ttl_ms
from tasks_app.domain.task import Task
from tasks_app.domain.transitions import ALLOWED_IN, Action
from tasks_app.store import codec
from tasks_app.store.connections import translating
from tasks_app.store.ingest import MAX_BULK, Ingest, Receipt

__all__ = ["MAX_BATCH", "MAX_BULK", "Commands", "Purged", "Receipt"]

MAX_BATCH = 100
"""How many tasks one script call of an operator touches: few enough to be over within a few milliseconds."""
_TRIES = 10


@dataclass(frozen=True, slots=True)
class Purged:
    """One step of a purge: how many tasks it ended and how many are left."""

    done: int
    remaining: int


@dataclass(frozen=True, slots=True)
class Step:
    """A stretch of an operation's walk: from ``place`` to ``following``, over ``looked`` ids. Places are ids."""

    operation: str
    place: bytes
    following: bytes
    looked: int


_ALONE = ("", "", "", 0)


class _Changed(WrongStatus):
    """The record is not what was read a moment ago."""


class Commands(Ingest):
    """The write side of the web, the shell client and the Python API."""

    def cancel(self, task_id: str, actor: Actor) -> None:
        """End a waiting task at once.

        Raises:
            CancelRequested: it is running; the request is recorded and its worker told.
            TaskFinished: it had ended. NotFound, UnreadableRecord: there is no such task, or a damaged one.
        """
        _raise(self.cancel_many([task_id], actor)[task_id])

    def cancel_many(self, task_ids: Sequence[str], actor: Actor) -> dict[str, DtqError | None]:
        """Cancel up to ``MAX_BATCH`` tasks; per id ``None`` or what :meth:`cancel` would have raised."""
        return self._batch("cancel", task_ids, actor, "cancel", "all", "")

    def run_now(self, task_id: str, actor: Actor) -> None:
        """Send a pending or retrying task to its stream now. Raises NotFound, WrongStatus, UnreadableRecord."""
        _raise(self.run_now_many([task_id], actor)[task_id])

    def run_now_many(self, task_ids: Sequence[str], actor: Actor) -> dict[str, DtqError | None]:
        """The same for up to ``MAX_BATCH`` tasks."""
        return self._batch("runnow", task_ids, actor)

    def discard(self, task_id: str, actor: Actor) -> None:
        """Remove a dead-lettered, failed or damaged task for good. Raises NotFound, WrongStatus."""
        _raise(self.discard_many([task_id], actor)[task_id])

    def discard_many(self, task_ids: Sequence[str], actor: Actor) -> dict[str, DtqError | None]:
        """The same for up to ``MAX_BATCH`` tasks."""
        return self._batch("discard", task_ids, actor, "")

    def dlq_requeue(self, task_id: str, actor: Actor) -> None:
        """Bring a dead-lettered or failed task back with attempt 1 and a fresh TTL clock.

        This is the one move outside the transition table. The spent attempts are appended to
        ``metadata.previous_attempts``; as metadata is the client's JSON, it is edited here and not by the script, which
        then refuses if the record has changed in between. Two round trips.

        Raises:
            NotFound, UnreadableRecord, WrongStatus: as their names say.
            IdempotencyConflict: the task's key belongs to another live task by now.
        """
        _raise(self.requeue_many([task_id], actor)[task_id])

    def requeue_many(self, task_ids: Sequence[str], actor: Actor) -> dict[str, DtqError | None]:
        """The same for up to ``MAX_BATCH`` tasks. Two round trips, two more for what changed in between."""
        _need_batch(task_ids)
        results: dict[str, DtqError | None] = dict.fromkeys(task_ids)
        left = list(results)
        for _ in range(_TRIES):
            able: list[str] = []
            args: list[str | int] = []
            for task_id, task in zip(left, self._queries.with_metadata(left), strict=True):
                try:
                    args += _new_life(task)
                    able.append(task_id)
                except (NotFound, UnreadableRecord) as error:
                    results[task_id] = error
            replies = self._scripts.run("requeue", *actor.arguments, *_ALONE, *args) if able else []
            for task_id, (word, detail) in zip(able, replies, strict=True):
                results[task_id] = _refusal(Action.REQUEUE, task_id, word.decode(), detail.decode(errors="replace"))
            left = [task_id for task_id in able if isinstance(results[task_id], _Changed)]
            if not left:
                break
        return results

    def take_step(self, action: Action, task_ids: Sequence[str], actor: Actor, step: Step) -> bool:
        """Requeue, cancel or discard up to ``MAX_BATCH`` tasks and note in the operation what became of each.

        One round trip, two for a requeue. False, and nothing changed, when the operation has ended or gone on from
        another place in between.
        """
        _need_batch(task_ids)
        head = (*actor.arguments, step.operation, step.place, step.following, step.looked)
        match action:
            case Action.REQUEUE:
                tasks = self._queries.with_metadata(task_ids) if task_ids else []
                lives = (_new_life_of(task_id, task) for task_id, task in zip(task_ids, tasks, strict=True))
                reply = self._scripts.run("requeue", *head, *(value for life in lives for value in life))
            case Action.CANCEL:
                reply = self._scripts.run("cancel", *head, "cancel", "all", "", *task_ids)
            case Action.DISCARD:
                reply = self._scripts.run("discard", *head, "", *task_ids)
            case Action.RUN_NOW:
                raise ValueError("No operation brings tasks forward")
        return bool(reply != b"STALE")

    def pause(self, queue: str, actor: Actor, reason: str = "", until: int | None = None) -> None:
        """Stop a queue's tasks from starting, until resumed or until ``until`` (epoch ms). Raises NotFound."""
        word = self._scripts.run("pause", *actor.arguments, queue, reason, "" if until is None else until)
        _need_queue(word, queue)

    def resume(self, queue: str, actor: Actor) -> None:
        """Let a queue's tasks start again. Raises NotFound."""
        _need_queue(self._scripts.run("resume", *actor.arguments, queue), queue)

    def purge_queue(self, queue: str, actor: Actor) -> Purged:
        """Cancel up to ``MAX_BATCH`` waiting tasks of a queue; call again while some remain. Four round trips.

        Raises:
            NotFound: no such queue.
        """
        indexes = [self._keys.index(s, queue=queue) for s in ("queued", "pending", "retrying")]
        with translating():
            if not self._client.sismember(self._keys.queues, queue):
                raise NotFound(f"There is no queue {queue}")
        ids = self._first(indexes)
        replies = self._batch("cancel", ids, actor, "purge", "waiting", f"queue:{queue}") if ids else {}
        return Purged(sum(error is None for error in replies.values()), self._count(indexes))

    def purge_dlq(self, actor: Actor) -> Purged:
        """Discard up to ``MAX_BATCH`` dead-lettered tasks; call again while some remain. Three round trips."""
        indexes = [self._keys.index("dead_lettered")]
        ids = self._first(indexes)
        replies = self._batch("discard", ids, actor, "dlq") if ids else {}
        return Purged(sum(error is None for error in replies.values()), self._count(indexes))

    def probe(self) -> None:
        """Ask whether the server takes writes, by one that writes nothing. One round trip."""
        with translating():
            # An empty SETRANGE creates no key, yet is refused like any write on a replica or without memory or disk.
            self._client.setrange(self._keys.prefix, 0, "")

    def _batch(self, script: str, task_ids: Sequence[str], actor: Actor, *args: str) -> dict[str, DtqError | None]:
        _need_batch(task_ids)
        if not task_ids:
            return {}
        alone = () if script == "runnow" else _ALONE
        action = {"cancel": Action.CANCEL, "runnow": Action.RUN_NOW, "discard": Action.DISCARD}[script]
        replies = self._scripts.run(script, *actor.arguments, *alone, *args, *task_ids)
        return {
            task_id: _refusal(action, task_id, word.decode(), detail.decode(errors="replace"))
            for task_id, (word, detail) in zip(task_ids, replies, strict=True)
        }

    def _first(self, indexes: Iterable[str]) -> list[str]:
        with translating():
            pipe = self._client.pipeline(transaction=False)
            for index in indexes:
                pipe.zrange(index, 0, MAX_BATCH - 1)
            ids = [codec.name(task_id) for members in pipe.execute() for task_id in members]
        return ids[:MAX_BATCH]

    def _count(self, indexes: Iterable[str]) -> int:
        with translating():
            pipe = self._client.pipeline(transaction=False)
            for index in indexes:
                pipe.zcard(index)
            return sum(cast(list[int], pipe.execute()))


def _raise(error: DtqError | None) -> None:
    if error is not None:
        raise error


def _new_life(task: Task | NotFound | UnreadableRecord) -> tuple[str | int, ...]:
    """What the requeue script is told of one task. Raises what stands in its place, or UnreadableRecord."""
    if not isinstance(task, Task):
        raise task
    try:
        metadata = strict_json.loads(task.metadata_json or "{}")
    except MalformedJson as error:
        raise UnreadableRecord(f"The metadata does not decode: {error.message}", task_id=task.id) from error
    before = metadata.get("previous_attempts")
    history = before if isinstance(before, list) else [] if before is None else [before]
    metadata["previous_attempts"] = [*history, task.attempt]
    ttl = ttl_ms(metadata)
    return task.id, task.attempt, task.requeues, strict_json.dumps(metadata), "" if ttl is None else ttl


def _new_life_of(task_id: str, task: Task | NotFound | UnreadableRecord) -> tuple[str | int, ...]:
    """The same, with no attempt for what cannot be read: the script then says so."""
    try:
        return _new_life(task)
    except (NotFound, UnreadableRecord):
        return task_id, "", 0, "", ""


def _need_batch(task_ids: Sequence[str]) -> None:
    if len(task_ids) > MAX_BATCH:
        raise ValidationError({"task_ids": [f"must be at most {MAX_BATCH}"]})


def _need_queue(word: bytes, queue: str) -> None:
    if word == b"NOT_FOUND":
        raise NotFound(f"There is no queue {queue}")


def _refusal(action: Action, task_id: str, word: str, detail: str) -> DtqError | None:
    match word:
        case "OK":
            return None
        case "NOT_FOUND":
            return NotFound(f"There is no task {task_id}", task_id=task_id)
        case "TASK_FINISHED":
            return TaskFinished(f"The task has ended: {detail}", task_id=task_id, status=detail)
        case "CANCEL_REQUESTED":
            return CancelRequested(
                "The task is running; its worker was told to stop it", task_id=task_id, status=detail
            )
        case "WRONG_STATUS":
            allowed = sorted(ALLOWED_IN[action])
            message = f"The task is {detail}; {action} is for {' and '.join(allowed)} tasks"
            return WrongStatus(message, task_id=task_id, status=detail, allowed=allowed)
        case "CHANGED":
            return _Changed("The task keeps changing; try again", task_id=task_id, status=detail)
        case "IDEMPOTENCY_CONFLICT":
            message = "The task's idempotency key belongs to another live task"
            return IdempotencyConflict(message, task_id=task_id, holder=detail)
        case _:
            return UnreadableRecord("The task's record is damaged; it can only be discarded", task_id=task_id)
