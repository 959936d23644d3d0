"""What happened to a task, point by point."""

from __future__ import annotations

from dataclasses import dataclass

from tasks_app.console.presenters.statuses import Look, look_of, outcome_look
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Attempt, TaskDetail

_Point = tuple[int, Look, str]
_DELAY = look_of(TaskStatus.RETRYING)


@dataclass(frozen=True, slots=True)
class Step:
    """A point of the timeline. ``took_ms`` is how long the task stayed there; ``None`` for the last one."""

    look: Look
    at: int
    note: str = ""
    took_ms: int | None = None
    lasts: bool = False


def timeline(detail: TaskDetail) -> list[Step]:
    """What happened to the task, oldest first: its birth, each wait and each attempt, and its end."""
    task = detail.task
    points: list[_Point] = [(task.created_at, Look("submitted", "up", "grey", "Accepted by the queue"), "")]
    earlier = None
    for attempt in detail.attempts:
        points += _wait(points[-1][0], earlier, attempt.queued_at, attempt.number)
        points.append((attempt.started_at, look_of(TaskStatus.RUNNING), f"attempt {attempt.number}"))
        last = attempt is detail.attempts[-1]
        if attempt.ended_at is not None and not (last and task.status.is_terminal):
            points.append((attempt.ended_at, outcome_look(attempt.outcome), f"attempt {attempt.number}"))
        earlier = attempt
    waited = _wait(points[-1][0], earlier, task.enqueued_at, task.attempt)
    if task.status in {TaskStatus.PENDING, TaskStatus.RETRYING}:
        points.append((points[-1][0], look_of(task.status), ""))
    elif task.status is TaskStatus.QUEUED:
        points += waited or [(points[-1][0], look_of(task.status), "")]
    elif task.status.is_terminal and task.finished_at is not None:
        points += [*waited, (task.finished_at, look_of(task.status), "")]
    if len(points) > 1 and points[1][0] == points[0][0] and points[1][1] is not look_of(TaskStatus.RUNNING):
        del points[0]  # queued or scheduled at its birth: one moment, one point
    steps = []
    for (at, look, note), following in zip(points, [*points[1:], None], strict=True):
        took = None if following is None or following[:2] == (at, _DELAY) else max(0, following[0] - at)
        steps.append(Step(look, at, note, took, following is None and not task.status.is_terminal))
    return steps


def _wait(since: int, earlier: Attempt | None, queued_at: int | None, number: int) -> list[_Point]:
    """How the task came to wait for a worker at ``queued_at``, if it did since the last point."""
    if queued_at is None or queued_at <= since:
        return []
    if earlier is not None and number <= earlier.number:
        return [(queued_at, look_of(TaskStatus.QUEUED), "requeued")]
    before = look_of(TaskStatus.PENDING) if earlier is None else _DELAY
    return [(since, before, ""), (queued_at, look_of(TaskStatus.QUEUED), "")]
