"""How a worker leaves: what runs may finish, what does not is given back, every outcome is written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.store.leases import MAX_GIVEN_BACK, Leases
from workers.engine.duty import Duty
from workers.engine.execution import Execution
from workers.engine.executor import Executor

log = structlog.get_logger(__name__)

CLEANUP_S = 0.5
"""How long coroutines may clean up before their tasks are given back."""
FLUSH_S = 5.0
FLUSH_WHEN_HURRIED_S = 1.0


class Leaving:
    """The last acts of one worker, on the loop. ``leased`` is the executor's table."""

    def __init__(
        self, leases: Leases, worker_id: str, executor: Executor, leased: dict[str, Execution], duty: Duty
    ) -> None:
        self._leases = leases
        self._worker_id = worker_id
        self._executor = executor
        self._leased = leased
        self._hurried = duty.hurried

    async def drain(self, timeout_s: float) -> None:
        """Let what runs finish, for ``timeout_s`` or until the worker is hurried; give the rest back."""
        await self._settle(timeout_s, self._hurried)
        given = self._executor.give_back_all()
        if given:
            await self._cleanup()
            await self.give_back(given)
        await self._settle(self._flush_s)

    async def give_back(self, given: list[tuple[str, int]]) -> None:
        """Let others have these (id, attempt) at once, not only when their leases run out."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._flush_s
        count = 0
        while given:
            try:
                count += await self._leases.give_back(self._worker_id, given[:MAX_GIVEN_BACK])
                given = given[MAX_GIVEN_BACK:]
            except StoreUnavailable as error:
                if loop.time() >= deadline:
                    log.warning("GIVE_BACK_FAILED", tasks=len(given), error=str(error))  # their leases run out instead
                    break
                await asyncio.sleep(0.2)
        log.info("TASKS_GIVEN_BACK", tasks=count)

    @property
    def _flush_s(self) -> float:
        return FLUSH_WHEN_HURRIED_S if self._hurried.is_set() else FLUSH_S

    async def _cleanup(self) -> None:
        """Let coroutines that were cancelled just now clean up, before their tasks can start elsewhere."""
        await _until(lambda: not any(e.task is not None for e in self._executor.detached), CLEANUP_S)

    async def _settle(self, timeout_s: float, hurry: asyncio.Event | None = None) -> None:
        """Wait until nothing runs and every outcome is accepted, or for as long as there is time."""
        await _until(lambda: not self._leased, timeout_s, hurry)


async def _until(fact: Callable[[], bool], timeout_s: float, hurry: asyncio.Event | None = None) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    while not fact():
        left = deadline - loop.time()
        if left <= 0 or (hurry is not None and hurry.is_set()):
            return
        await asyncio.sleep(min(0.02, left))
