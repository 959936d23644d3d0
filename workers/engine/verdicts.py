"""From what a handler did to what the store is told: pure, and the same for threads and for the loop."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from typing import Any

from tasks_app.domain import strict_json
from tasks_app.domain.config import Config
from tasks_app.domain.errors import MalformedJson, StoreUnavailable
from tasks_app.domain.outcome import Cancelled, Failed, Outcome, Succeeded, decide
from tasks_app.handlers import Handler, PermanentError, RetryableError, RetryPolicy, TaskCancelled
from tasks_app.handlers.errors import (
    ResultTooLarge,
    TaskTimeout,
    UndecodablePayload,
    UnknownTaskType,
    UnserialisableResult,
)
from tasks_app.handlers.text import clean, clean_tail
from tasks_app.store.connections import is_outage
from tasks_app.store.leases import Claimed, Finish

MAX_MESSAGE_CHARS = 1000
MAX_CLASS_CHARS = 200
MAX_TRACEBACK_BYTES = 8192

_ALWAYS_RETRYABLE = (RetryableError, TimeoutError, StoreUnavailable)


def decode_payload(payload_json: str) -> Any:
    """The payload as the handler gets it.

    Raises:
        UndecodablePayload: the stored text is not JSON.
    """
    try:
        if not payload_json.isascii():
            payload_json.encode()  # the store hands on bytes that are no UTF-8 as lone surrogates
        return strict_json.loads(payload_json)
    except UnicodeEncodeError as error:
        raise UndecodablePayload("The stored payload is not UTF-8") from error
    except MalformedJson as error:
        raise UndecodablePayload(error.message) from error


def succeeded(result: Any, max_bytes: int) -> Succeeded:
    """The outcome of a handler that returned.

    Raises:
        UnserialisableResult: JSON cannot hold ``result`` exactly.
        ResultTooLarge: its JSON text is over ``max_bytes``.
    """
    if result is None:
        return Succeeded("null")
    try:
        text = strict_json.dumps(result)
    except MalformedJson as error:
        raise UnserialisableResult(error.message) from error
    if len(text) > max_bytes or len(text.encode()) > max_bytes:
        raise ResultTooLarge(f"The result is over {max_bytes} bytes of JSON")
    return Succeeded(text)


def raised(error: BaseException, handler: Handler, *, cancelled: bool, mask: Callable[[str], str] = str) -> Outcome:
    """The outcome of a handler that raised ``error``; ``cancelled`` tells whether it had been told to stop.

    ``mask`` takes secrets out of what the error says.
    """
    if isinstance(error, TaskCancelled) and cancelled:
        return Cancelled()
    retryable = not isinstance(error, PermanentError) and (
        isinstance(error, _ALWAYS_RETRYABLE + handler.retry_for) or is_outage(error)
    )
    return Failed(
        error_class=clean(type(error).__name__, MAX_CLASS_CHARS),
        message=_message(error, mask),
        traceback=_traceback(error, mask),
        retryable=retryable,
    )


def timed_out(timeout_ms: int) -> Failed:
    """The outcome of an attempt whose handler was still running at its timeout."""
    return Failed(TaskTimeout.__name__, f"Still running after its timeout of {timeout_ms / 1000:g} s", "", True)


def unknown_type(task_type: str) -> Failed:
    """The outcome of an attempt for which this worker has no handler."""
    return Failed(UnknownTaskType.__name__, f"This worker knows no task type {task_type!r}", "", False)


class Judge:
    """Turns outcomes into the words of the store: next status, delay, texts."""

    def __init__(self, config: Config, rng: random.Random) -> None:
        self._policy = config.retry_policy
        self._dlq_enabled = config.dlq_enabled
        self._rng = rng

    def finish(self, claimed: Claimed, outcome: Outcome, word: str, retry: RetryPolicy | None) -> Finish:
        """What to tell the store. ``word``: succeeded, failed, timed_out or cancelled."""
        verdict = decide(
            outcome,
            attempt=claimed.attempt,
            max_attempts=claimed.max_attempts,
            policy=retry or self._policy,
            dlq_enabled=self._dlq_enabled,
            rng=self._rng,
        )
        if isinstance(outcome, Succeeded):
            return Finish(claimed.id, claimed.attempt, verdict.status, word, 0, outcome.result)
        if isinstance(outcome, Failed):
            return Finish(
                task_id=claimed.id,
                attempt=claimed.attempt,
                status=verdict.status,
                outcome=word,
                delay_ms=verdict.delay_ms,
                error_class=outcome.error_class,
                error_message=outcome.message,
                traceback=outcome.traceback,
            )
        return Finish(claimed.id, claimed.attempt, verdict.status, word)


def word_for(outcome: Outcome) -> str:
    """The attempt record's word for an outcome that no timeout brought about."""
    if isinstance(outcome, Succeeded):
        return "succeeded"
    return "failed" if isinstance(outcome, Failed) else "cancelled"


def _message(error: BaseException, mask: Callable[[str], str]) -> str:
    try:
        text = str(error)
    except Exception as broken:  # noqa: BLE001 - a handler's own exception class may fail to describe itself
        text = f"(no message: its __str__ raised {type(broken).__name__})"
    if not isinstance(error, Exception):  # CancelledError, SystemExit, KeyboardInterrupt
        text = f"The handler raised {type(error).__name__} and nobody had asked it to stop: {text}".removesuffix(": ")
    return clean(mask(text), MAX_MESSAGE_CHARS)


def _traceback(error: BaseException, mask: Callable[[str], str]) -> str:
    # The first frame is the engine's own call of the handler: noise to whoever reads it.
    frames = error.__traceback__.tb_next if error.__traceback__ is not None else None
    try:
        text = "".join(traceback.format_exception(type(error), error, frames))
    except Exception as broken:  # noqa: BLE001 - formatting runs the exception's own code too
        text = f"(no traceback: formatting it raised {type(broken).__name__})"
    return clean_tail(mask(text), MAX_TRACEBACK_BYTES)
