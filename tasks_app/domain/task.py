"""The task record as Python sees it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tasks_app.domain.status import TaskStatus


@dataclass(frozen=True, slots=True)
class Task:
    """One task. Times are epoch milliseconds by Redis' clock; ``*_json`` fields are JSON text, never decoded here.

    A list leaves out what only one task's page shows: ``payload_json``, ``metadata_json``, ``result_json`` and
    ``traceback`` are then ``None``.
    """

    id: str
    task_type: str
    queue: str
    priority: int
    status: TaskStatus
    attempt: int
    max_attempts: int
    timeout_ms: int
    created_at: int
    payload_json: str | None = None
    metadata_json: str | None = None
    result_json: str | None = None
    enqueued_at: int | None = None
    started_at: int | None = None
    finished_at: int | None = None
    due_at: int | None = None
    expires_at: int | None = None
    worker_id: str | None = None
    error_class: str | None = None
    error_message: str | None = None
    traceback: str | None = None
    fingerprint: str | None = None
    idempotency_key: str | None = None
    cancel_requested: bool = False
    give_backs: int = 0
    requeues: int = 0
    progress: float | None = None
    progress_note: str | None = None


@dataclass(frozen=True, slots=True)
class UnreadableTask:
    """A record that does not decode. Lists show it as such instead of failing as a whole."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a task. ``outcome``: succeeded, failed, timed_out, cancelled, lost or given_back.

    ``queued_at`` is when it last began to wait for a worker: one that another left behind began before that run.
    """

    number: int
    outcome: str
    worker_id: str
    started_at: int
    ended_at: int | None
    error_class: str | None = None
    error_message: str | None = None
    traceback: str | None = None
    queued_at: int | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line a handler wrote with ``ctx.log``; ``at`` is epoch milliseconds."""

    at: int
    attempt: int
    message: str


@dataclass(frozen=True, slots=True)
class TaskDetail:
    """A task with its history, oldest first."""

    task: Task
    attempts: list[Attempt] = field(default_factory=list)
    log: list[LogLine] = field(default_factory=list)
