"""A worker's hand for tests that need a task to have run: claims and finishes, one step at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tasks_app.domain.config import Config
from tasks_app.domain.status import TaskStatus
from tasks_app.store.leases import Claimed, Finish, Leases, Note
from tests.support.backend import Backend

T = TypeVar("T")
WORKER = "hand-1-abcdef01"


class Hand:
    """Each step opens and closes its own connection, as the tests of the API have no loop."""

    def __init__(self, backend: Backend, config: Config) -> None:
        self._backend = backend
        self._config = config

    def claim(self, limit: int = 10) -> list[Claimed]:
        """Take waiting tasks."""
        return self._do(lambda leases: leases.claim(WORKER, (), limit)).tasks

    def succeed(self, result_json: str = "null") -> list[str]:
        """Take one waiting task and let it succeed; its id in a list."""
        return self._end(TaskStatus.SUCCEEDED, "succeeded", result_json=result_json)

    def fail(self, status: TaskStatus = TaskStatus.DEAD_LETTERED, message: str = "no", delay_ms: int = 0) -> list[str]:
        """Take one waiting task and let its attempt fail."""
        return self._end(
            status,
            "failed",
            error_class="ValueError",
            error_message=message,
            traceback="Traceback: ...",
            delay_ms=delay_ms,
        )

    def note(self, claimed: Claimed, progress: float, note: str, *lines: str) -> None:
        """Tell progress and log lines."""
        told = Note(claimed.id, claimed.attempt, progress, note, lines)
        self._do(lambda leases: leases.note(WORKER, [told]))

    def _end(self, status: TaskStatus, outcome: str, **more: object) -> list[str]:
        claimed = self.claim(1)
        ends = [Finish(task.id, task.attempt, status, outcome, **more) for task in claimed]  # type: ignore[arg-type]
        assert self._do(lambda leases: leases.finish(WORKER, ends)) == [status] * len(claimed)
        return [task.id for task in claimed]

    def _do(self, step: Callable[[Leases], Awaitable[T]]) -> T:
        async def run() -> T:
            client = self._backend.async_client()
            try:
                return await step(Leases(client, self._config))
            finally:
                await client.aclose()

        return asyncio.run(run())
