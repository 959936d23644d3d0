"""The state machine: every row, every refusal, and what operators may do."""

from __future__ import annotations

from itertools import product

import pytest

from tasks_app.domain.errors import InvalidTransition
from tasks_app.domain.status import TERMINAL, WAITING, TaskStatus
from tasks_app.domain.transitions import ALLOWED_IN, VALID_TRANSITIONS, Action, allows, transition

# Written out once more on purpose: a change of the table must be made twice, so never by a slip.
SPECIFIED = {
    "pending": {"queued", "cancelled", "expired"},
    "queued": {"running", "cancelled", "expired"},
    "running": {"succeeded", "retrying", "failed", "dead_lettered", "cancelled"},
    "retrying": {"queued", "cancelled"},
    "succeeded": set(),
    "failed": set(),
    "dead_lettered": set(),
    "cancelled": set(),
    "expired": set(),
}
PAIRS = list(product(TaskStatus, TaskStatus))


def test_the_table_is_the_specified_one() -> None:
    assert {str(s): {str(t) for t in to} for s, to in VALID_TRANSITIONS.items()} == SPECIFIED


@pytest.mark.parametrize(("current", "target"), [p for p in PAIRS if p[1] in SPECIFIED[p[0]]])
def test_a_listed_move_is_made(current: TaskStatus, target: TaskStatus) -> None:
    assert transition(current, target) is target


@pytest.mark.parametrize(("current", "target"), [p for p in PAIRS if p[1] not in SPECIFIED[p[0]]])
def test_any_other_move_is_refused(current: TaskStatus, target: TaskStatus) -> None:
    with pytest.raises(InvalidTransition) as refused:
        transition(current, target)
    assert refused.value.code == "INVALID_TRANSITION"
    assert refused.value.details == {"current": current, "target": target}
    assert str(refused.value) == f"A task cannot go from {current} to {target}"


@pytest.mark.parametrize("status", TaskStatus)
def test_terminal_means_no_way_out(status: TaskStatus) -> None:
    assert status.is_terminal == (not VALID_TRANSITIONS[status]) == (status in TERMINAL)


@pytest.mark.parametrize("status", TaskStatus)
def test_waiting_is_neither_running_nor_over(status: TaskStatus) -> None:
    assert status.is_waiting == (not status.is_terminal and status is not TaskStatus.RUNNING) == (status in WAITING)


@pytest.mark.parametrize("status", TaskStatus)
def test_each_status_can_be_reached(status: TaskStatus) -> None:
    reached, frontier = set(), {TaskStatus.PENDING}
    while frontier:
        reached |= frontier
        frontier = {to for current in frontier for to in VALID_TRANSITIONS[current]} - reached
    assert status in reached


@pytest.mark.parametrize(
    ("action", "statuses"),
    [
        (Action.CANCEL, {"pending", "queued", "running", "retrying"}),
        (Action.REQUEUE, {"dead_lettered", "failed"}),
        (Action.RUN_NOW, {"pending", "retrying"}),
        (Action.DISCARD, {"dead_lettered", "failed"}),
    ],
)
def test_actions_and_the_statuses_they_apply_to(action: Action, statuses: set[str]) -> None:
    assert {status for status in TaskStatus if allows(status, action)} == statuses == ALLOWED_IN[action]


def test_every_action_is_covered() -> None:
    assert set(ALLOWED_IN) == set(Action)
