"""The state machine: one table, asked by the scripts, the API, the console, the docs and the tests."""

from __future__ import annotations

from enum import StrEnum

from tasks_app.domain.errors import InvalidTransition
from tasks_app.domain.status import TaskStatus

VALID_TRANSITIONS: dict[TaskStatus, frozenset[TaskStatus]] = {
    TaskStatus.PENDING: frozenset({TaskStatus.QUEUED, TaskStatus.CANCELLED, TaskStatus.EXPIRED}),
    TaskStatus.QUEUED: frozenset({TaskStatus.RUNNING, TaskStatus.CANCELLED, TaskStatus.EXPIRED}),
    TaskStatus.RUNNING: frozenset(
        {
            TaskStatus.SUCCEEDED,
            TaskStatus.RETRYING,
            TaskStatus.FAILED,
            TaskStatus.DEAD_LETTERED,
            TaskStatus.CANCELLED,
        }
    ),
    TaskStatus.RETRYING: frozenset({TaskStatus.QUEUED, TaskStatus.CANCELLED}),
    TaskStatus.SUCCEEDED: frozenset(),
    TaskStatus.FAILED: frozenset(),
    TaskStatus.DEAD_LETTERED: frozenset(),
    TaskStatus.CANCELLED: frozenset(),
    TaskStatus.EXPIRED: frozenset(),
}

# The one move outside the table: an operator revives a task that had ended by its own failures.
REQUEUEABLE = frozenset({TaskStatus.DEAD_LETTERED, TaskStatus.FAILED})


class Action(StrEnum):
    """What an operator can do to one task."""

    CANCEL = "cancel"
    REQUEUE = "requeue"
    RUN_NOW = "run-now"
    DISCARD = "discard"


ALLOWED_IN: dict[Action, frozenset[TaskStatus]] = {
    Action.CANCEL: frozenset(s for s, to in VALID_TRANSITIONS.items() if TaskStatus.CANCELLED in to),
    Action.REQUEUE: REQUEUEABLE,
    Action.RUN_NOW: frozenset({TaskStatus.PENDING, TaskStatus.RETRYING}),
    Action.DISCARD: REQUEUEABLE,
}

DESTROYS = frozenset({Action.CANCEL, Action.DISCARD})
"""What cannot be undone: a cancelled task stays cancelled, a discarded one is gone."""


def transition(current: TaskStatus, target: TaskStatus) -> TaskStatus:
    """Return ``target`` when the table lists the move.

    Raises:
        InvalidTransition: the move is not in ``VALID_TRANSITIONS``.
    """
    if target not in VALID_TRANSITIONS[current]:
        raise InvalidTransition(current, target)
    return target


def allows(status: TaskStatus, action: Action) -> bool:
    """True when ``action`` makes sense for a task in ``status``."""
    return status in ALLOWED_IN[action]
