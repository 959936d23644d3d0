"""Waiting for a task's end without letting waiters eat the server's threads."""

from __future__ import annotations

import threading
import time

from tasks_app import runtime
from tasks_app.domain.task import Task

MAX_WAIT_S = 30
MAX_WAITERS = 4
"""Requests per process that may wait at once. Each holds one of the few threads that serve everybody else."""

_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.25

_slots = threading.BoundedSemaphore(MAX_WAITERS)


def task_at_its_end(task_id: str, seconds: float, *, limited: bool = True) -> Task:
    """The task once it has ended, or after ``seconds``, whichever comes first.

    With ``MAX_WAITERS`` waiting already it comes back at once: to wait is a wish, and a client that finds the task
    unfinished asks again. A process that serves nobody else waits without that limit.

    Raises:
        NotFound, UnreadableRecord: there is no such task, or a damaged one.
    """
    task = runtime.queries().task(task_id)
    if task.status.is_terminal or seconds <= 0 or (limited and not _slots.acquire(blocking=False)):
        return task
    try:
        _wait(task_id, seconds)
    finally:
        if limited:
            _slots.release()
    return runtime.queries().task(task_id)


def _wait(task_id: str, seconds: float) -> None:
    # Looks come at growing distances, so a short task is seen early and a long one costs four looks a second.
    # Each reads a list's row and no more: the payload may be large.
    deadline = time.monotonic() + seconds
    pause = _FIRST_PAUSE_S
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE_S)
        rows = runtime.queries().rows([task_id])
        if not rows or not isinstance(rows[0], Task) or rows[0].status.is_terminal:
            return
