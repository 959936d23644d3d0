"""Submission: the only place where tasks are born."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import redis

from tasks_app.domain.config import Config
from tasks_app.domain.errors import (
    DtqError,
    IdempotencyInProgress,
    IdempotencyMismatch,
    NotFound,
    QueueFull,
    StoreUnavailable,
    UnreadableRecord,
    ValidationError,
)
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.submission import Submission
from tasks_app.domain.task import Task
from tasks_app.store.queries import Queries
from tasks_app.store.scripts import Scripts

MAX_BULK = 1000


@dataclass(frozen=True, slots=True)
class Receipt:
    """An accepted submission. ``duplicate``: the task had been there and has ended."""

    task: Task
    duplicate: bool = False


class Ingest:
    """Accepts tasks."""

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
                f"{secrets.randbits(52):013x}",  # the end of the id
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
        words, ids = replies[::2], replies[1::2]
        return [
            self._receipt(s, int(now), word.decode(), task_id.decode())
            for s, word, task_id in zip(submissions, words, ids, strict=True)
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
