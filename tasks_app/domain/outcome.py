"""What an attempt's end means for its task. Pure: the same input gives the same verdict."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tasks_app.domain.retry import RetryPolicy
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.transitions import transition


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The handler returned; ``result`` is JSON text."""

    result: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The handler raised, timed out or could not run. Texts are already capped."""

    error_class: str
    message: str
    traceback: str
    retryable: bool


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The handler stopped because a cancel was asked for."""


Outcome = Succeeded | Failed | Cancelled


@dataclass(frozen=True, slots=True)
class Verdict:
    """The move to make: the target status and, for ``retrying``, the delay in milliseconds."""

    status: TaskStatus
    delay_ms: int = 0


def decide(
    outcome: Outcome,
    *,
    attempt: int,
    max_attempts: int,
    policy: RetryPolicy,
    dlq_enabled: bool,
    rng: random.Random,
) -> Verdict:
    """Say what happens to a running task whose attempt ended with ``outcome``.

    The store still has the last word on cancellation: a task whose cancel was requested ends ``cancelled`` whatever
    the verdict says, because only the script that writes the outcome can see the flag and the status together.
    """
    match outcome:
        case Succeeded():
            target = TaskStatus.SUCCEEDED
        case Cancelled():
            target = TaskStatus.CANCELLED
        case Failed(retryable=True) if attempt < max_attempts:
            return Verdict(transition(TaskStatus.RUNNING, TaskStatus.RETRYING), policy.delay_ms(attempt, rng))
        case Failed():
            target = TaskStatus.DEAD_LETTERED if dlq_enabled else TaskStatus.FAILED
    return Verdict(transition(TaskStatus.RUNNING, target))
