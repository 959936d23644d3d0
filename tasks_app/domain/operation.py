"""A bulk action by filter, from the moment it is asked for to its report. Times are epoch milliseconds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from tasks_app.domain.errors import ValidationError
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.transitions import ALLOWED_IN, Action

BULK_ACTIONS = (Action.REQUEUE, Action.CANCEL, Action.DISCARD)
TRIALS = (1, 10, 100)
"""How many tasks a careful operation requeues and then waits for, trial by trial, before it does the rest."""
TOO_MANY_FAIL = 0.2
"""It stops by itself where more than this share of a trial has failed again."""


class OperationState(StrEnum):
    """Where an operation stands; all but the first are final."""

    RUNNING = "running"
    FINISHED = "finished"
    ABORTED = "aborted"
    STOPPED = "stopped"
    """By itself: too many of a careful operation's trial failed again."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which tasks an operation is for; everything given must match. Without ``status``: all that the action is for."""

    status: TaskStatus | None = None
    queue: str | None = None
    task_type: str | None = None
    worker_id: str | None = None
    fingerprint: str | None = None
    created_after: int | None = None
    created_before: int | None = None

    @property
    def text(self) -> str:
        """What is given, as JSON with sorted names: equal for equal selections."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        return json.dumps(given, sort_keys=True, separators=(",", ":"))

    @property
    def words(self) -> str:
        """The same as one would type it into a search box."""
        given = asdict(self)
        return " ".join(f"{name}:{value}" for name, value in given.items() if value is not None)


@dataclass(frozen=True, slots=True)
class Reckoning:
    """How many tasks an operation is going to look at; when ``exact`` it is for each of them, else for some."""

    total: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation as it stands.

    ``looked`` of about ``total`` tasks have been seen, of which ``done`` were changed, ``told`` were running and were
    told to stop, and ``skipped`` were left alone: the status they were found in, or another reason, to how many.
    ``trials`` is how many trials a careful one has made, ``None`` of any other; ``trying`` are the tasks of the last,
    of which ``failed`` had failed again when it stopped.
    """

    id: str
    action: Action
    selection: Selection
    state: OperationState
    reckoning: Reckoning
    looked: int
    done: int
    told: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    actor: str = ""
    source: str = ""
    request_id: str = ""
    created_at: int = 0
    ended_at: int | None = None
    ended_by: str | None = None
    place: bytes = b""
    trials: int | None = None
    trying: tuple[str, ...] = ()
    failed: int = 0

    @property
    def runs(self) -> bool:
        """True until it has ended."""
        return self.state is OperationState.RUNNING

    @property
    def skips(self) -> int:
        """How many tasks were left alone."""
        return sum(self.skipped.values())


def statuses_of(action: Action, selection: Selection) -> list[TaskStatus]:
    """The statuses that ``action`` looks for under ``selection``.

    Raises:
        ValidationError: there is none, as the action is for others, or no operation does it.
    """
    if action not in BULK_ACTIONS:
        raise ValidationError({"action": [f"must be one of {', '.join(BULK_ACTIONS)}"]})
    allowed = [status for status in TaskStatus if status in ALLOWED_IN[action]]
    if selection.status is not None and selection.status not in allowed:
        raise ValidationError({"status": [f"must be one of {', '.join(allowed)} for {action}"]})
    if selection.fingerprint is None:
        return allowed if selection.status is None else [selection.status]
    # Only dead letters have a fingerprint that an index knows.
    if TaskStatus.DEAD_LETTERED not in allowed or selection.status not in (None, TaskStatus.DEAD_LETTERED):
        raise ValidationError({"fingerprint": ["is for dead-lettered tasks"]})
    return [TaskStatus.DEAD_LETTERED]
