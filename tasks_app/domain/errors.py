"""The one exception tree. Each error has a ``code`` that travels to the API and the console."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tasks_app.domain.status import TaskStatus

MAX_NAMED_RULES = 3
"""Broken rules that a message spells out; ``details`` has all of them."""


class DtqError(Exception):
    """Root of everything the queue refuses. ``details`` is JSON-serialisable and safe to show."""

    code = "INTERNAL_ERROR"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class ConfigError(DtqError):
    """A setting has a value that cannot work."""

    code = "CONFIG_ERROR"


class ValidationError(DtqError):
    """A submission or a filter breaks a rule; ``fields`` maps each field to its messages."""

    code = "VALIDATION_ERROR"

    def __init__(self, fields: Mapping[str, list[str]]) -> None:
        rules = [f"{name} {rule}" for name in sorted(fields) for rule in fields[name]]
        more = f" (and {len(rules) - MAX_NAMED_RULES} more)" if len(rules) > MAX_NAMED_RULES else ""
        super().__init__(f"Invalid input: {'; '.join(rules[:MAX_NAMED_RULES])}{more}", fields=dict(fields))
        self.fields = dict(fields)


class MalformedJson(DtqError):
    """The text is not JSON, or is JSON that cannot be kept exactly."""

    code = "VALIDATION_ERROR"


class PayloadTooLarge(DtqError):
    """The payload's JSON text is longer than ``DTQ_MAX_PAYLOAD_BYTES``."""

    code = "PAYLOAD_TOO_LARGE"


class QueueFull(DtqError):
    """Waiting plus scheduled tasks of the queue have reached ``DTQ_MAX_QUEUE_DEPTH``."""

    code = "QUEUE_FULL"


class IdempotencyInProgress(DtqError):
    """The key belongs to a task that is still alive; ``details`` has its ``task_id``."""

    code = "IDEMPOTENCY_IN_PROGRESS"


class IdempotencyMismatch(DtqError):
    """The key was used with another task type or payload; ``details`` has the ``task_id``."""

    code = "IDEMPOTENCY_MISMATCH"


class IdempotencyConflict(DtqError):
    """A dead task cannot come back: its key now belongs to another live task."""

    code = "IDEMPOTENCY_CONFLICT"


class NotFound(DtqError):
    """No such task, queue or worker."""

    code = "NOT_FOUND"


class TaskFinished(DtqError):
    """The task has already ended; ``details`` has its ``status``."""

    code = "TASK_FINISHED"


class CancelRequested(DtqError):
    """The task is running: the request is recorded and its worker will stop it."""

    code = "CANCEL_REQUESTED"


class WrongStatus(DtqError):
    """The action does not apply to the task's status; ``details`` has ``status`` and ``allowed``."""

    code = "WRONG_STATUS"


class WorkerLeaving(DtqError):
    """Too late to tell the worker anything: it is gone, or stops already; ``details`` has its ``state``."""

    code = "WORKER_LEAVING"


class OperationRunning(DtqError):
    """The same operation has not ended yet; ``details`` has its ``operation_id``."""

    code = "OPERATION_RUNNING"


class OperationEnded(DtqError):
    """Too late to abort the operation; ``details`` has its ``state``."""

    code = "OPERATION_ENDED"


class TooManyOperations(DtqError):
    """As many operations run as may run at once."""

    code = "TOO_MANY_OPERATIONS"


class InvalidTransition(DtqError):
    """A move that the state machine does not list. Seeing one means a bug, not bad input."""

    code = "INVALID_TRANSITION"

    def __init__(self, current: TaskStatus, target: TaskStatus) -> None:
        super().__init__(f"A task cannot go from {current} to {target}", current=current, target=target)


class InvalidCursor(DtqError):
    """A page cursor that this server did not make."""

    code = "INVALID_CURSOR"


class UnreadableRecord(DtqError):
    """A task's hash in Redis does not decode; ``details`` has the ``task_id`` and the reason."""

    code = "UNREADABLE_RECORD"


class KeyRefused(DtqError):
    """No API key with this secret, or one that was withdrawn or has expired."""

    code = "UNAUTHENTICATED"


class NotPermitted(DtqError):
    """Whoever asks is known, and this is not theirs to do."""

    code = "FORBIDDEN"


class RateLimited(DtqError):
    """An API key is used more often than it may be; ``retry_after_ms`` says when there is room again."""

    code = "RATE_LIMITED"

    def __init__(self, retry_after_ms: int) -> None:
        super().__init__("Too many requests with this API key")
        self.retry_after_ms = retry_after_ms


class StoreUnavailable(DtqError):
    """Redis is gone, loading, read-only or out of memory. Nothing was half-written."""

    code = "REDIS_UNAVAILABLE"


class LeaseLost(DtqError):
    """The attempt no longer belongs to this worker; its outcome was dropped."""

    code = "LEASE_LOST"
