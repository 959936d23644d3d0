"""Bulk actions by filter in words: what they are for, how far they are, what they left alone and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from tasks_app.console.presenters.statuses import STATUS_LOOKS, Look
from tasks_app.console.presenters.tasks import ACTION_LOOKS, ActionLook
from tasks_app.console.presenters.times import exact
from tasks_app.domain.operation import BULK_ACTIONS, Operation, OperationState, Selection
from tasks_app.domain.roles import Right
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.transitions import ALLOWED_IN, DESTROYS

_REASONS = {
    "NOT_FOUND": "gone",
    "UNREADABLE_RECORD": "unreadable",
    "IDEMPOTENCY_CONFLICT": "key in use by another task",
    "CHANGED": "changed meanwhile",
}
_FAILURES = frozenset({"UNREADABLE_RECORD", "IDEMPOTENCY_CONFLICT"})
"""The rest was skipped: what happened to a task in the meantime needs nobody's attention, these do."""
_STATES = {
    OperationState.RUNNING: Look("running", "play", "blue", "The scheduler works on it"),
    OperationState.FINISHED: Look("finished", "check", "green", "It has looked at everything"),
    OperationState.ABORTED: Look("aborted", "ban", "amber", "It was ended before it had looked at everything"),
    OperationState.STOPPED: Look("stopped", "cross", "red", "By itself: too many of those it tried failed again"),
}
_TRYING = Look("trying", "hourglass", "blue", "It waits for those it has requeued to end before it goes on")
_WAITING = Look("waiting", "hourglass", "amber", "It waits for a scheduler: none leads at the moment")


@dataclass(frozen=True, slots=True)
class OperationRow:
    """An operation as the list shows it; ``share`` is how much of it has been looked at, 0 to 1.

    ``skipped`` and ``failed``: the tasks that it left alone, as a reason and to how many it applies.
    """

    operation: Operation
    action: ActionLook
    state: Look
    chosen: Sequence[tuple[str, str]]
    share: float
    skipped: Sequence[tuple[str, int]]
    failed: Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class EveryMatch:
    """The button of an action on all that match."""

    look: ActionLook
    url: str


def operation_row(operation: Operation, *, leader: bool) -> OperationRow:
    """One operation; ``leader``: whether a scheduler leads, without which nothing goes on."""
    total = operation.reckoning.total
    return OperationRow(
        operation=operation,
        action=ACTION_LOOKS[operation.action],
        state=_state(operation, leader=leader),
        chosen=chosen_words(operation.selection),
        share=min(1.0, operation.looked / total) if total else float(not operation.runs),
        skipped=[(_reason(name), count) for name, count in operation.skipped.items() if name not in _FAILURES],
        failed=[(_reason(name), count) for name, count in operation.skipped.items() if name in _FAILURES],
    )


def every_match(status: TaskStatus | None, rights: frozenset[Right]) -> list[EveryMatch]:
    """The actions on all tasks in ``status`` that these rights allow."""
    return [
        EveryMatch(ACTION_LOOKS[action], reverse(f"console:operations-{action}"))
        for action in BULK_ACTIONS
        if status in ALLOWED_IN[action] and (Right.PURGE if action in DESTROYS else Right.OPERATE) in rights
    ]


def chosen_words(selection: Selection) -> list[tuple[str, str]]:
    """A filter as pairs of a name and a value; empty when it leaves nothing out."""
    status = selection.status
    pairs = [
        ("status", STATUS_LOOKS[status].word if status else None),
        ("queue", selection.queue),
        ("type", selection.task_type),
        ("worker", selection.worker_id),
        ("cause", selection.fingerprint),
        ("submitted after", exact(selection.created_after) if selection.created_after is not None else None),
    ]
    return [(name, value) for name, value in pairs if value]


def _state(operation: Operation, *, leader: bool) -> Look:
    if operation.runs and not leader:
        return _WAITING
    return _TRYING if operation.runs and operation.trying else _STATES[operation.state]


def _reason(name: str) -> str:
    if name in _REASONS:
        return _REASONS[name]
    if name in list(TaskStatus):
        return f"found {STATUS_LOOKS[TaskStatus(name)].word}"
    return name.lower().replace("_", " ")
