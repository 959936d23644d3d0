"""What a handler can raise, and what running one can end in."""

from __future__ import annotations

from typing import Any

from tasks_app.domain.errors import ConfigError, DtqError


class HandlerError(DtqError):
    """Root of the errors that end an attempt. The message may be left out: ``raise RetryableError``."""

    code = "HANDLER_ERROR"

    def __init__(self, message: str = "", **details: Any) -> None:
        super().__init__(message, **details)


class RetryableError(HandlerError):
    """Raise it when another attempt may succeed: the task is tried again while attempts are left."""

    code = "RETRYABLE"


class PermanentError(HandlerError):
    """Raise it when no further attempt can succeed: the task ends now, whatever ``retry_for`` says."""

    code = "PERMANENT"


class TaskCancelled(HandlerError):
    """Raised by ``ctx.raise_if_cancelled()``; let it pass."""

    code = "CANCELLED"


class TaskTimeout(RetryableError):
    """The handler was still running when its timeout had passed."""

    code = "TIMED_OUT"


class UnknownTaskType(PermanentError):
    """This worker knows no handler of that name."""

    code = "UNKNOWN_TASK_TYPE"


class UndecodablePayload(PermanentError):
    """The stored payload is not JSON."""

    code = "UNDECODABLE_PAYLOAD"


class UnserialisableResult(PermanentError):
    """The handler returned something that JSON cannot hold exactly: a set, a tuple, a key that is not text, NaN."""

    code = "UNSERIALISABLE_RESULT"


class ResultTooLarge(PermanentError):
    """The result's JSON text is longer than ``DTQ_RESULT_MAX_BYTES``."""

    code = "RESULT_TOO_LARGE"


class DuplicateTask(ConfigError):
    """Two handlers claim one task type; ``details`` names both places."""

    code = "DUPLICATE_TASK"
