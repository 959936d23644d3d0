"""Waiting for a task's end without letting waiters eat the server's threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tasks_app.domain.task import Task

MAX_WAIT_S = 30
MAX_WAITERS = 4
"""Requests per process that may wait at once. Each holds one of the few threads that serve everybody else."""

_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.25

_slots = threading.BoundedSemaphore(MAX_WAITERS)


def wait_for_end(read: Callable[[], Task], seconds: float) -> Task:
    """The task as ``read`` gives it once it has ended, or after ``seconds``, whichever comes first.

    With ``MAX_WAITERS`` waiting already it is read once and returned at once: to wait is a wish, and a client that
    finds the task unfinished asks again. Reads come at growing distances, so a short task is seen early and a long
    one costs four reads a second.
    """
    task = read()
    if task.status.is_terminal or seconds <= 0 or not _slots.acquire(blocking=False):
        return task
    try:
        return poll(read, seconds)
    finally:
        _slots.release()


def poll(read: Callable[[], Task], seconds: float) -> Task:
    """Read until the task has ended, for at most ``seconds``."""
    deadline = time.monotonic() + seconds
    pause = _FIRST_PAUSE_S
    while True:
        task = read()
        left = deadline - time.monotonic()
        if task.status.is_terminal or left <= 0:
            return task
        time.sleep(min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE_S)
