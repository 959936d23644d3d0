"""Handlers that only the benchmarks load (``DTQ_TASK_MODULES``)."""

from __future__ import annotations

import time
from typing import Any

from tasks_app.handlers import TaskContext, task


@task("bench.started")
async def started(payload: dict[str, Any], ctx: TaskContext) -> int:
    """Return the monotonic clock in ns when the handler began; it is one clock for all processes of a host."""
    return time.monotonic_ns()
