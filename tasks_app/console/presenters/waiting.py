"""Why a waiting task does not run. Pure: the page reads, this reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tasks_app.domain.snapshot import QueueInfo, WorkerInfo
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Task

ALIVE = frozenset({"ready", "busy", "late"})
"""States in which a worker takes tasks, as far as anybody knows."""
QUIET = "quiet"
MOST_AHEAD = 1000
"""How far the tasks before one are counted: that many entries are read for its page."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A sentence: ``text``, then ``at`` as a moment that ticks, then ``tail``.

    ``blocks``: the task cannot run until this changes.
    """

    text: str
    at: int | None = None
    kind: str = "ago"
    blocks: bool = False
    tail: str = ""


def why_not_running(
    task: Task,
    queue: QueueInfo | None,
    workers: Sequence[WorkerInfo],
    leader: str | None,
    now: int,
    ahead: int | None = None,
) -> list[Reason]:
    """The reasons at ``now`` (epoch milliseconds), those that block first; empty for a task that is not waiting.

    ``ahead``: how many tasks of its band start before a queued one, counted to one past ``MOST_AHEAD``; ``None`` when
    that is unknown.
    """
    if not task.status.is_waiting:
        return []
    reasons = _pause_reasons(queue) + _worker_reasons(task, workers)
    if task.status is TaskStatus.QUEUED:
        reasons += _place_reasons(task, queue, workers, ahead)
    else:
        reasons += _due_reasons(task, leader)
    if task.expires_at is not None:
        if task.expires_at > now:
            reasons.append(Reason("Expires unless started:", task.expires_at, "until"))
        else:
            reasons.append(Reason("Its time to live ended", task.expires_at, tail=": it expires instead of running"))
    return sorted(reasons, key=lambda reason: not reason.blocks)


def _pause_reasons(queue: QueueInfo | None) -> list[Reason]:
    if queue is None or queue.pause is None:
        return []
    pause = queue.pause
    because = f": {pause.reason}" if pause.reason else ""
    reasons = [Reason(f"Queue {queue.name} was paused by {pause.by}", pause.at, blocks=True, tail=because)]
    if pause.until:
        reasons.append(Reason("The pause ends by itself:", pause.until, "until"))
    return reasons


def _worker_reasons(task: Task, workers: Sequence[WorkerInfo]) -> list[Reason]:
    alive = [worker for worker in workers if worker.state in ALIVE or worker.state == QUIET]
    if not alive:
        return [Reason("No worker is alive. Start one with: manage.py runworker", blocks=True)]
    serving = [worker for worker in alive if serves(worker, task.queue)]
    if not serving:
        names = f"{len(alive)} worker{'s are' if len(alive) > 1 else ' is'} alive"
        return [Reason(f"{names}, but none serves queue {task.queue}", blocks=True)]
    taking = [worker for worker in serving if worker.state != QUIET]
    if not taking:
        return [Reason(f"Every worker that serves queue {task.queue} is quiet: told to take nothing new", blocks=True)]
    strangers = [worker for worker in taking if not _may_know(worker, task.task_type)]
    if len(strangers) == len(taking):
        text = f"No worker that serves queue {task.queue} knows type {task.task_type}"
        return [Reason(f"{text}: the one that takes it can only fail it", blocks=True)]
    if strangers:
        text = f"{len(strangers)} of {len(taking)} workers that serve queue {task.queue}"
        return [Reason(f"{text} do not know type {task.task_type}: if one of those takes it, it fails")]
    return []


def _place_reasons(
    task: Task, queue: QueueInfo | None, workers: Sequence[WorkerInfo], ahead: int | None
) -> list[Reason]:
    reasons = []
    serving = [worker for worker in workers if worker.state in ALIVE and serves(worker, task.queue)]
    slots = sum(worker.concurrency for worker in serving)
    used = sum(worker.occupied for worker in serving)
    if queue is not None and queue.bands:
        higher = sum(count for band, count in queue.bands.items() if band > task.priority)
        if higher:
            reasons.append(Reason(f"{higher:,} waiting in higher bands start first"))
        if place := _place(ahead, max(0, queue.bands.get(task.priority, 0) - 1)):
            reasons.append(Reason(f"{place} in its band p{task.priority}"))
    if serving and used >= slots:
        reasons.append(Reason(f"All {slots:,} slots of the workers that serve it are in use"))
    elif any(_may_know(worker, task.task_type) for worker in serving) and queue is not None and queue.pause is None:
        reasons.append(Reason(f"{slots - used:,} of {slots:,} slots are free; it should start any moment"))
    return reasons


def _place(ahead: int | None, others: int) -> str:
    if ahead is None:
        return f"{others:,} other{'' if others == 1 else 's'} waiting" if others else ""
    if not ahead:
        return "First" if others else ""
    return f"More than {MOST_AHEAD:,} ahead of it" if ahead > MOST_AHEAD else f"{ahead:,} ahead of it"


def _due_reasons(task: Task, leader: str | None) -> list[Reason]:
    what = "Scheduled:" if task.status is TaskStatus.PENDING else "Next attempt:"
    reasons = [Reason(what, task.due_at, "until", blocks=True)]
    if leader is None:
        reasons.append(Reason("No scheduler leads, so nothing that is due gets queued", blocks=True))
    return reasons


def _may_know(worker: WorkerInfo, task_type: str) -> bool:
    """False when the worker has named all the types it knows, and this is none of them."""
    return worker.task_types is None or task_type in worker.task_types


def serves(worker: WorkerInfo, queue: str) -> bool:
    """True when the worker takes tasks of ``queue``; a worker without names takes every queue's."""
    return not worker.queues or queue in worker.queues
