"""The statuses a task can have."""

from __future__ import annotations

from enum import StrEnum


class TaskStatus(StrEnum):
    """Where a task stands. The values are what Redis, the API and the console show."""

    PENDING = "pending"
    QUEUED = "queued"
    RUNNING = "running"
    RETRYING = "retrying"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DEAD_LETTERED = "dead_lettered"
    CANCELLED = "cancelled"
    EXPIRED = "expired"

    @property
    def is_terminal(self) -> bool:
        """True when the lifecycle ends here; only an admin requeue leaves such a status."""
        return self in TERMINAL

    @property
    def is_waiting(self) -> bool:
        """True when the task still waits for its turn: scheduled or in a stream."""
        return self in WAITING


TERMINAL = frozenset(
    {
        TaskStatus.SUCCEEDED,
        TaskStatus.FAILED,
        TaskStatus.DEAD_LETTERED,
        TaskStatus.CANCELLED,
        TaskStatus.EXPIRED,
    }
)
WAITING = frozenset({TaskStatus.PENDING, TaskStatus.QUEUED, TaskStatus.RETRYING})
