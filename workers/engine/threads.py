"""Threads for ``def`` handlers. Like an executor, without its future per call: results come back in batches."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


class ThreadPool(Generic[Job, Result]):
    """Runs ``run(job)`` in a thread and ``done(job, result)`` on the loop.

    Threads start when there is work for them and are daemons: a handler that never returns cannot hold up the exit.
    ``run`` must not raise. However many jobs end together, the loop is woken once.
    """

    def __init__(
        self,
        size: int,
        loop: asyncio.AbstractEventLoop,
        run: Callable[[Job], Result],
        done: Callable[[Job, Result], None],
    ) -> None:
        self._size = size
        self._loop = loop
        self._run = run
        self._done = done
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._results: deque[tuple[Job, Result]] = deque()
        self._woken = False
        self._threads = 0
        self.busy = 0

    def submit(self, job: Job) -> None:
        """Queue ``job``. On the loop only; the caller keeps jobs under way within the pool's size."""
        self.busy += 1
        if self.busy > self._threads and self._threads < self._size:
            self._threads += 1
            threading.Thread(target=self._work, name=f"dtq-handler-{self._threads}", daemon=True).start()
        self._jobs.put(job)

    def close(self) -> None:
        """Let idle threads end; a thread that is busy ends when its handler returns."""
        for _ in range(self._threads):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            # A fresh context each time: what one handler binds (a log context, say) is not there for the next.
            result = contextvars.Context().run(self._run, job)
            self._results.append((job, result))
            # Between the flag's reset and the last pop the collector still sees what is appended, so a job that finds
            # the flag set is always collected; two threads that find it unset wake the loop twice, which is harmless.
            if not self._woken:
                self._woken = True
                try:
                    self._loop.call_soon_threadsafe(self._collect)
                except RuntimeError:  # the loop has closed: the worker is gone and so is whoever wanted the result
                    return
            del job, result

    def _collect(self) -> None:
        self._woken = False
        results = self._results
        while results:
            job, result = results.popleft()
            self.busy -= 1
            self._done(job, result)
