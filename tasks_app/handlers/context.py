"""What a handler is told about its attempt, and what it can tell back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

from tasks_app.handlers.errors import TaskCancelled
from tasks_app.handlers.text import clean

MAX_NOTE_CHARS = 200
MAX_LINE_CHARS = 1000


class NoteSink(Protocol):
    """Where progress and log lines go. Called from threads and from the loop; must not block."""

    def __call__(
        self, task_id: str, attempt: int, *, progress: float | None, note: str | None, line: str | None
    ) -> None:
        """Take one note; ``None`` leaves a part as it is."""


class TaskContext:
    """One attempt of one task. Every method works from a thread and on the loop alike, and returns at once.

    A handler's own tests can build one: ``TaskContext()`` has sensible values and drops what it is told.
    """

    __slots__ = (
        "_cancelled",
        "_mask",
        "_sink",
        "_started",
        "_timeout_s",
        "attempt",
        "max_attempts",
        "queue",
        "task_id",
        "task_type",
    )

    def __init__(
        self,
        task_id: str = "0" * 32,
        *,
        task_type: str = "",
        attempt: int = 1,
        max_attempts: int = 1,
        queue: str = "default",
        timeout_s: float = 3600.0,
        started: float | None = None,
        sink: NoteSink | None = None,
        mask: Callable[[str], str] = str,
    ) -> None:
        self.task_id = task_id
        self.task_type = task_type
        self.attempt = attempt
        self.max_attempts = max_attempts
        self.queue = queue
        self._timeout_s = timeout_s
        self._started = time.monotonic() if started is None else started
        self._sink = sink
        self._mask = mask
        self._cancelled = False

    @property
    def remaining_s(self) -> float:
        """Seconds left of this attempt's timeout; 0 when it has passed."""
        return max(0.0, self._started + self._timeout_s - time.monotonic())

    @property
    def deadline(self) -> datetime:
        """When this attempt times out, by this host's clock, in UTC."""
        left = self._started + self._timeout_s - time.monotonic()
        return datetime.now(UTC) + timedelta(seconds=left)

    @property
    def cancelled(self) -> bool:
        """True when the handler should stop: a cancel was asked for, the timeout has passed, or the lease is lost.

        An ``async def`` handler is interrupted by itself. A ``def`` handler cannot be: look here between steps.
        """
        return self._cancelled

    def raise_if_cancelled(self) -> None:
        """Leave the handler when it should stop.

        Raises:
            TaskCancelled: ``cancelled`` is true.
        """
        if self._cancelled:
            raise TaskCancelled("Stopped on request")

    def progress(self, fraction: float, note: str | None = None) -> None:
        """Say how far the work is: 0 to 1 (values outside are held to that range) and a short note.

        The latest one counts; several within a fifth of a second become one.

        Raises:
            ValueError: ``fraction`` is not a number.
        """
        if isinstance(fraction, bool) or not isinstance(fraction, int | float) or math.isnan(fraction):
            raise ValueError(f"progress must be a number from 0 to 1, not {fraction!r}")
        if self._sink is not None:
            text = None if note is None else clean(self._mask(str(note)), MAX_NOTE_CHARS)
            held = min(1.0, max(0.0, float(fraction)))
            self._sink(self.task_id, self.attempt, progress=held, note=text, line=None)

    def log(self, message: str) -> None:
        """Add a line to the task's own log, shown with the task; the number of lines kept is capped."""
        if self._sink is not None:
            line = clean(self._mask(str(message)), MAX_LINE_CHARS)
            self._sink(self.task_id, self.attempt, progress=None, note=None, line=line)

    def idempotent(self, key: str) -> str:
        """A key for a service that takes idempotency keys: ``<task id>:<key>``.

        It is the same on every attempt of this task (also after a crash and after a requeue from the dead letters)
        and differs between tasks, so a step that ran before the attempt broke is not charged, mailed or booked twice.
        """
        return f"{self.task_id}:{key}"

    def mark_cancelled(self) -> None:
        """Tell the handler to stop. The worker calls it; a handler's tests may."""
        self._cancelled = True
