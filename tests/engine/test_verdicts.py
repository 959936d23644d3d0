"""What a handler did, and what the store is told."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
import redis.exceptions

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.domain.outcome import Cancelled, Failed, Succeeded
from tasks_app.domain.retry import RetryPolicy
from tasks_app.domain.status import TaskStatus
from tasks_app.handlers import Handler, PermanentError, Registry, RetryableError, TaskCancelled
from tasks_app.handlers.errors import ResultTooLarge, UndecodablePayload, UnserialisableResult
from tests.engine.fakes import claimed
from tests.support.builders import make_config
from workers.engine.verdicts import (
    MAX_MESSAGE_CHARS,
    MAX_TRACEBACK_BYTES,
    Judge,
    decode_payload,
    raised,
    succeeded,
    timed_out,
    unknown_type,
    word_for,
)


def handler(**options: Any) -> Handler:
    registry = Registry()
    registry.task("it", **options)(lambda payload, ctx: None)
    found = registry.get("it")
    assert found is not None
    return found


def failure(error: BaseException, **options: Any) -> Failed:
    """The outcome of a handler that raises ``error``."""
    try:
        raise_it(error)
    except BaseException as caught:  # noqa: BLE001
        outcome = raised(caught, handler(**options), cancelled=False)
    assert isinstance(outcome, Failed)
    return outcome


def raise_it(error: BaseException) -> None:
    raise error


class Odd(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class Both(PermanentError, OSError):
    pass


@pytest.mark.parametrize(
    ("error", "options", "retryable"),
    [
        (RetryableError("again"), {}, True),
        (RetryableError(), {}, True),
        (PermanentError("never"), {}, False),
        (ValueError("bug"), {}, False),
        (OSError("disk"), {}, False),
        (OSError("disk"), {"retry_for": (OSError,)}, True),
        (PermanentError("never"), {"retry_for": (Exception,)}, False),
        (Both("never"), {"retry_for": (OSError,)}, False),
        (TimeoutError(), {}, True),
        (redis.exceptions.ConnectionError("gone"), {}, True),
        (redis.exceptions.TimeoutError("slow"), {}, True),
        (redis.exceptions.BusyLoadingError("loading"), {}, True),
        (redis.exceptions.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), {}, True),
        (redis.exceptions.ReadOnlyError("You can't write against a read only replica."), {}, True),
        (redis.exceptions.ResponseError("MISCONF Redis is configured to save RDB snapshots"), {}, True),
        (redis.exceptions.ResponseError("WRONGTYPE"), {}, False),
        (ValueError("OOM command not allowed"), {}, False),
        (StoreUnavailable("gone"), {}, True),
        (MemoryError(), {}, False),
        (SystemExit(3), {}, False),
        (KeyboardInterrupt(), {}, False),
        (asyncio.CancelledError(), {}, False),
        (TaskCancelled("of its own accord"), {}, False),
    ],
)
def test_which_failures_are_worth_another_attempt(
    error: BaseException, options: dict[str, Any], retryable: bool
) -> None:
    assert failure(error, **options).retryable is retryable


def test_stopping_on_request_is_no_failure() -> None:
    assert raised(TaskCancelled(), handler(), cancelled=True) == Cancelled()


def test_failures_name_the_class_and_show_the_handlers_part_of_the_stack() -> None:
    outcome = failure(ValueError("a bug"))
    assert (outcome.error_class, outcome.message) == ("ValueError", "a bug")
    assert "raise error" in outcome.traceback
    assert outcome.traceback.endswith("ValueError: a bug\n")
    assert "raise_it(error)" not in outcome.traceback  # the caller's frame: the engine's, in a worker


def test_long_texts_are_cut_and_marked() -> None:
    outcome = failure(ValueError("x" * 100_000))
    assert len(outcome.message) == MAX_MESSAGE_CHARS
    assert outcome.message.endswith("[cut]")
    assert len(outcome.traceback.encode()) <= MAX_TRACEBACK_BYTES
    assert "bytes or more cut" in outcome.traceback


def test_text_that_no_store_can_hold_is_replaced() -> None:
    outcome = failure(ValueError("half \ud83d a smile"))
    assert outcome.message == "half ? a smile"
    outcome.traceback.encode()


def test_an_exception_that_cannot_describe_itself_still_fails_its_task() -> None:
    outcome = failure(Odd())
    assert outcome.error_class == "Odd"
    assert "ValueError" in outcome.message


def test_what_ends_programs_is_explained() -> None:
    assert failure(SystemExit(3)).message == "The handler raised SystemExit and nobody had asked it to stop: 3"
    assert failure(asyncio.CancelledError()).message.endswith("nobody had asked it to stop")


@pytest.mark.parametrize("text", ["", "{", "[NaN]", '{"a":1,"a":2}', "\udcff"])
def test_payloads_that_are_no_json_are_refused(text: str) -> None:
    with pytest.raises(UndecodablePayload):
        decode_payload(text)


def test_payloads_come_through_unchanged() -> None:
    text = '[9007199254740993,1000000000000000000000000000000,[],{},"漢🙂\\u2028"]'
    assert decode_payload(text) == [9007199254740993, 10**30, [], {}, "漢🙂\u2028"]


@pytest.mark.parametrize("result", [{1: 2}, (1,), {"a": (1,)}, {1, 2}, float("nan"), "\ud800", object(), b"x"])
def test_results_that_json_cannot_hold_are_refused(result: Any) -> None:
    with pytest.raises(UnserialisableResult):
        succeeded(result, 1000)


def test_results_may_fill_their_room_and_no_more() -> None:
    assert succeeded(None, 4) == Succeeded("null")
    assert succeeded("é" * 4, 10) == Succeeded('"éééé"')
    for result in ("é" * 5, "x" * 100):
        with pytest.raises(ResultTooLarge):
            succeeded(result, 10)


def judge(**settings: Any) -> Judge:
    return Judge(make_config(**settings), random.Random(1))


FAILED = Failed("OSError", "disk", "trace", retryable=True)


def test_success_carries_the_result() -> None:
    finish = judge().finish(claimed(), Succeeded("[1]"), "succeeded", None)
    assert (finish.status, finish.outcome, finish.result_json) == (TaskStatus.SUCCEEDED, "succeeded", "[1]")


def test_a_retry_carries_its_delay_and_its_reason() -> None:
    finish = judge(retry_base_delay=1.0, retry_jitter=0.0).finish(claimed(attempt=1), FAILED, "failed", None)
    assert (finish.status, finish.delay_ms, finish.traceback) == (TaskStatus.RETRYING, 1000, "trace")
    own = RetryPolicy(base=7, maximum=7, jitter=0)
    assert judge().finish(claimed(), FAILED, "failed", own).delay_ms == 7000


@pytest.mark.parametrize(("dlq", "status"), [(True, TaskStatus.DEAD_LETTERED), (False, TaskStatus.FAILED)])
def test_the_last_attempt_and_permanent_failures_end_the_task(dlq: bool, status: TaskStatus) -> None:
    for task, outcome in ((claimed(attempt=3), FAILED), (claimed(), unknown_type("x"))):
        finish = judge(dlq_enabled=dlq).finish(task, outcome, "failed", None)
        assert (finish.status, finish.delay_ms) == (status, 0)


def test_timeouts_are_retryable_and_say_how_long() -> None:
    outcome = timed_out(1500)
    assert outcome.retryable
    assert "1.5 s" in outcome.message
    assert judge().finish(claimed(), outcome, "timed_out", None).outcome == "timed_out"


def test_words() -> None:
    assert [word_for(outcome) for outcome in (Succeeded(""), FAILED, Cancelled())] == [
        "succeeded",
        "failed",
        "cancelled",
    ]
    assert judge().finish(claimed(), Cancelled(), "cancelled", None).status is TaskStatus.CANCELLED
