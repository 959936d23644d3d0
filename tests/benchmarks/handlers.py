"""Handlers that only the benchmarks load (``DTQ_TASK_MODULES``)."""

from __future__ import annotations

import time
from typing import Any

from tasks_app.handlers import PermanentError, RetryableError, RetryPolicy, TaskContext, task


@task("bench.started")
async def started(payload: dict[str, Any], ctx: TaskContext) -> int:
    """Return the monotonic clock in ns when the handler began; it is one clock for all processes of a host."""
    return time.monotonic_ns()


@task("bench.flaky", retry=RetryPolicy(base=0.1, maximum=0.1))
async def flaky(payload: dict[str, Any], ctx: TaskContext) -> None:
    """Fail the first attempt; the second one, a tenth of a second later, succeeds."""
    if ctx.attempt == 1:
        raise RetryableError("the first attempt of this task fails")


@task("bench.failing")
async def failing(payload: dict[str, Any], ctx: TaskContext) -> None:
    """Fail for good."""
    raise PermanentError("this task fails")
