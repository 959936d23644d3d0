"""What changes tasks and queues from outside a worker. Each method is one script call unless it says otherwise."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import redis

from tasks_app.domain import strict_json
from tasks_app.domain.config import Config
from tasks_app.domain.errors import (
    CancelRequested,
    DtqError,
    IdempotencyConflict,
    IdempotencyInProgress,
    IdempotencyMismatch,
    NotFound,
    QueueFull,
    StoreUnavailable,
    TaskFinished,
    UnreadableRecord,
    ValidationError,
    WrongStatus,
)
from tasks_app.domain.snapshot import Actor
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.submission import Submission, ttl_ms
from tasks_app.domain.task import Task
from tasks_app.domain.transitions import ALLOWED_IN, Action
from tasks_app.store.connections import translating
from tasks_app.store.queries import Queries
from tasks_app.store.scripts import Scripts

MAX_BULK = 1000
MAX_BATCH = 500
"""How many tasks one script call of an operator touches."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """An accepted submission. ``duplicate``: the task had been there and has ended."""

    task: Task
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class Purged:
    """One step of a purge: how many tasks it ended and how many are left."""

    done: int
    remaining: int


class Commands:
    """The write side of the web, the shell client and the Python API."""

    def __init__(self, client: redis.Redis, config: Config) -> None:
        self._client = client
        self._config = config
        self._scripts = Scripts(client, config)
        self._keys = self._scripts.keys
        self._queries = Queries(client, config)

    def submit(self, submission: Submission) -> Receipt:
        """Accept one task.

        Raises:
            QueueFull, IdempotencyInProgress, IdempotencyMismatch: as their names say.
            ValidationError: the queue would be one name too many.
            StoreUnavailable: nothing was written, or the answer was lost.
        """
        reply = self.submit_many([submission])[0]
        if isinstance(reply, DtqError):
            raise reply
        return reply

    def submit_many(self, submissions: Sequence[Submission]) -> list[Receipt | DtqError]:
        """Accept up to ``MAX_BULK`` tasks in one call; one refused item does not spoil the others.

        A duplicate costs one more read each.
        """
        if len(submissions) > MAX_BULK:
            raise ValidationError({"tasks": [f"must be at most {MAX_BULK}"]})
        if not submissions:
            return []
        args: list[str | int] = []
        for s in submissions:
            when = f"+{s.delay_ms}" if not s.run_at_ms else str(s.run_at_ms)
            key = s.idempotency_key or ""
            args += (
                # The variant bits of a UUID, then 62 random ones.
                f"{8 + secrets.randbelow(4):x}{secrets.randbits(60):015x}",
                s.task_type,
                s.queue,
                s.priority,
                s.max_attempts,
                s.timeout_ms,
                s.payload_json,
                s.metadata_json,
                when,
                "" if s.ttl_ms is None else s.ttl_ms,
                key,
                s.fingerprint if key else "",
            )
        now, *replies = self._scripts.run("submit", *args)
        return [
            self._receipt(s, int(now), word.decode(), task_id.decode())
            for s, (word, task_id) in zip(submissions, replies, strict=True)
        ]

    def _receipt(self, s: Submission, now: int, word: str, task_id: str) -> Receipt | DtqError:
        match word:
            case "ACCEPTED":
                return Receipt(_born(s, now, task_id))
            case "DUPLICATE":
                try:
                    return Receipt(self._queries.task(task_id), duplicate=True)
                except (NotFound, UnreadableRecord, StoreUnavailable) as error:
                    return error
            case "IDEMPOTENCY_IN_PROGRESS":
                return IdempotencyInProgress("The idempotency key's task is still alive", task_id=task_id)
            case "IDEMPOTENCY_MISMATCH":
                return IdempotencyMismatch("The idempotency key was used for another submission", task_id=task_id)
            case "QUEUE_FULL":
                return QueueFull(f"Queue {s.queue} is full", queue=s.queue, limit=self._config.max_queue_depth)
            case _:
                limit = self._config.max_queues
                return ValidationError({"queue": [f"is new, and there are {limit} queue names already"]})

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
        for _ in range(10):
            task = self._queries.task(task_id)
            metadata = strict_json.loads(task.metadata_json or "{}")
            before = metadata.get("previous_attempts")
            history = before if isinstance(before, list) else [] if before is None else [before]
            metadata["previous_attempts"] = [*history, task.attempt]
            ttl = ttl_ms(metadata)
            word, detail = self._scripts.run(
                "requeue",
                *_actor(actor),
                task_id,
                task.attempt,
                task.requeues,
                strict_json.dumps(metadata),
                "" if ttl is None else ttl,
            )
            if word != b"CHANGED":
                return _raise(_refusal(Action.REQUEUE, task_id, word.decode(), detail.decode()))
        raise WrongStatus("The task keeps changing; try again", status=task.status)

    def requeue_many(self, task_ids: Sequence[str], actor: Actor) -> dict[str, DtqError | None]:
        """Requeue each of the tasks; two round trips a task."""
        results: dict[str, DtqError | None] = {}
        for task_id in task_ids:
            try:
                self.dlq_requeue(task_id, actor)
                results[task_id] = None
            except (NotFound, UnreadableRecord, WrongStatus, IdempotencyConflict) as error:
                results[task_id] = error
        return results

    def pause(self, queue: str, actor: Actor, reason: str = "", until: int | None = None) -> None:
        """Stop a queue's tasks from starting, until resumed or until ``until`` (epoch ms). Raises NotFound."""
        word = self._scripts.run("pause", *_actor(actor), queue, reason, "" if until is None else until)
        _need_queue(word, queue)

    def resume(self, queue: str, actor: Actor) -> None:
        """Let a queue's tasks start again. Raises NotFound."""
        _need_queue(self._scripts.run("resume", *_actor(actor), queue), queue)

    def purge_queue(self, queue: str, actor: Actor) -> Purged:
        """Cancel up to ``MAX_BATCH`` waiting tasks of a queue; call again while some remain. Two round trips.

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
        """Discard up to ``MAX_BATCH`` dead-lettered tasks; call again while some remain. Two round trips."""
        indexes = [self._keys.index("dead_lettered")]
        ids = self._first(indexes)
        replies = self._batch("discard", ids, actor, "dlq") if ids else {}
        return Purged(sum(error is None for error in replies.values()), self._count(indexes))

    def _batch(self, script: str, task_ids: Sequence[str], actor: Actor, *args: str) -> dict[str, DtqError | None]:
        if len(task_ids) > MAX_BATCH:
            raise ValidationError({"task_ids": [f"must be at most {MAX_BATCH}"]})
        if not task_ids:
            return {}
        action = {"cancel": Action.CANCEL, "runnow": Action.RUN_NOW, "discard": Action.DISCARD}[script]
        replies = self._scripts.run(script, *_actor(actor), *args, *task_ids)
        return {
            task_id: _refusal(action, task_id, word.decode(), detail.decode(errors="replace"))
            for task_id, (word, detail) in zip(task_ids, replies, strict=True)
        }

    def _first(self, indexes: Iterable[str]) -> list[str]:
        with translating():
            pipe = self._client.pipeline(transaction=False)
            for index in indexes:
                pipe.zrange(index, 0, MAX_BATCH - 1)
            ids = [task_id.decode() for members in pipe.execute() for task_id in members]
        return ids[:MAX_BATCH]

    def _count(self, indexes: Iterable[str]) -> int:
        with translating():
            pipe = self._client.pipeline(transaction=False)
            for index in indexes:
                pipe.zcard(index)
            return sum(cast(list[int], pipe.execute()))


def _born(s: Submission, now: int, task_id: str) -> Task:
    due_at = s.run_at_ms or now + s.delay_ms
    scheduled = due_at > now
    return Task(
        id=task_id,
        task_type=s.task_type,
        queue=s.queue,
        priority=s.priority,
        status=TaskStatus.PENDING if scheduled else TaskStatus.QUEUED,
        attempt=1,
        max_attempts=s.max_attempts,
        timeout_ms=s.timeout_ms,
        created_at=now,
        payload_json=s.payload_json,
        metadata_json=s.metadata_json,
        enqueued_at=None if scheduled else now,
        due_at=due_at if scheduled else None,
        expires_at=None if s.ttl_ms is None else now + s.ttl_ms,
        idempotency_key=s.idempotency_key,
    )


def _actor(actor: Actor) -> tuple[str, str, str]:
    return actor.name, actor.source, actor.request_id


def _raise(error: DtqError | None) -> None:
    if error is not None:
        raise error


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
            message = f"A task that is {detail} cannot be the target of {action}"
            return WrongStatus(message, task_id=task_id, status=detail, allowed=allowed)
        case "IDEMPOTENCY_CONFLICT":
            message = "The task's idempotency key belongs to another live task"
            return IdempotencyConflict(message, task_id=task_id, holder=detail)
        case _:
            return UnreadableRecord("The task's record is damaged; it can only be discarded", task_id=task_id)
