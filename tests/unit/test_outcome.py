"""What an attempt's end means for its task."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.outcome import Cancelled, Failed, Outcome, Succeeded, Verdict, decide
from tasks_app.domain.retry import RetryPolicy
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.transitions import VALID_TRANSITIONS

STEADY = RetryPolicy(base=1.0, maximum=60.0, jitter=0.0)


def failed(*, retryable: bool) -> Failed:
    return Failed("ValueError", "no", "Traceback ...", retryable)


def verdict(outcome: Outcome, attempt: int = 1, max_attempts: int = 3, dlq_enabled: bool = True) -> Verdict:
    return decide(
        outcome,
        attempt=attempt,
        max_attempts=max_attempts,
        policy=STEADY,
        dlq_enabled=dlq_enabled,
        rng=random.Random(1),
    )


@pytest.mark.parametrize("dlq_enabled", [True, False])
def test_success_and_cancel_end_the_task(dlq_enabled: bool) -> None:
    assert verdict(Succeeded("1"), dlq_enabled=dlq_enabled) == Verdict(TaskStatus.SUCCEEDED)
    assert verdict(Cancelled(), dlq_enabled=dlq_enabled) == Verdict(TaskStatus.CANCELLED)


@pytest.mark.parametrize(("attempt", "delay_ms"), [(1, 1000), (2, 2000), (3, 4000), (4, 8000)])
def test_a_retryable_failure_with_attempts_left_waits(attempt: int, delay_ms: int) -> None:
    assert verdict(failed(retryable=True), attempt, 5) == Verdict(TaskStatus.RETRYING, delay_ms)


@pytest.mark.parametrize(("attempt", "max_attempts"), [(1, 1), (3, 3), (4, 3)])
@pytest.mark.parametrize(("dlq_enabled", "status"), [(True, TaskStatus.DEAD_LETTERED), (False, TaskStatus.FAILED)])
def test_a_retryable_failure_of_the_last_attempt_is_final(
    attempt: int, max_attempts: int, dlq_enabled: bool, status: TaskStatus
) -> None:
    assert verdict(failed(retryable=True), attempt, max_attempts, dlq_enabled) == Verdict(status)


@pytest.mark.parametrize(("dlq_enabled", "status"), [(True, TaskStatus.DEAD_LETTERED), (False, TaskStatus.FAILED)])
def test_a_permanent_failure_is_final_at_once(dlq_enabled: bool, status: TaskStatus) -> None:
    assert verdict(failed(retryable=False), dlq_enabled=dlq_enabled) == Verdict(status)


@given(
    outcome=st.sampled_from([Succeeded("1"), Cancelled(), failed(retryable=True), failed(retryable=False)]),
    attempt=st.integers(1, 10_000),
    max_attempts=st.integers(1, 10_000),
    dlq_enabled=st.booleans(),
)
def test_each_verdict_is_a_move_a_running_task_may_make(
    outcome: Outcome, attempt: int, max_attempts: int, dlq_enabled: bool
) -> None:
    decided = verdict(outcome, attempt, max_attempts, dlq_enabled)
    assert decided.status in VALID_TRANSITIONS[TaskStatus.RUNNING]
    assert (decided.delay_ms > 0) == (decided.status is TaskStatus.RETRYING)
    assert decided == verdict(outcome, attempt, max_attempts, dlq_enabled)
