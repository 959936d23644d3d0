"""The handlers of a simulation, and the ledger that each of their runs is written to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tasks_app.handlers import PermanentError, Registry, RetryableError, TaskContext


@dataclass
class Execution:
    """A handler's run: begun, and ``done`` when its effect is there. Kept by nobody who can crash."""

    number: int
    task_id: str
    attempt: int
    worker: str
    done: bool = False


class Ledger:
    """Every run of a handler, in the order in which they began. ``on_begin`` is told of each."""

    def __init__(self, on_begin: Callable[[Execution], None]) -> None:
        self.executions: list[Execution] = []
        self._on_begin = on_begin

    def begin(self, ctx: TaskContext, worker: str) -> Execution:
        execution = Execution(len(self.executions), ctx.task_id, ctx.attempt, worker)
        self.executions.append(execution)
        self._on_begin(execution)
        return execution


def registry_of(ledger: Ledger, worker: str) -> Registry:
    """What one simulated worker can run."""
    registry = Registry()

    @registry.task("work")
    async def work(payload: dict[str, Any], ctx: TaskContext) -> dict[str, Any]:
        """Take ``seconds``; fail ``failures`` times, or for good; tell something; ignore being stopped for a while."""
        execution = ledger.begin(ctx, worker)
        if payload["tells"]:
            ctx.log("begun")
            ctx.progress(0.5, "half")
        try:
            await asyncio.sleep(payload["seconds"])
        except asyncio.CancelledError:
            if not payload["deaf"]:
                raise
            await asyncio.sleep(3)
        if payload["hopeless"]:
            raise PermanentError("hopeless")
        if ctx.attempt <= payload["failures"]:
            raise RetryableError("not yet")
        execution.done = True
        return {"execution": execution.number}

    return registry
