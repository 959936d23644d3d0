"""Shared by the tests of the executor and of whole workers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import redis

from tests.engine.executor_bench import ExecutorBench
from tests.engine.worker_bench import WorkerBench
from tests.support.backend import Backend
from workers.engine.control import ControlChannel


@pytest.fixture
async def stand() -> AsyncIterator[ExecutorBench]:
    made = ExecutorBench()
    yield made
    made.gate.set()
    made.enough.set()
    made.executor.give_back_all()
    await made.idle()
    made.executor.close()


@pytest.fixture
async def bench(redis_client: redis.Redis, backend: Backend) -> AsyncIterator[WorkerBench]:
    made = WorkerBench(redis_client, backend)
    yield made
    await made.close()


@pytest.fixture(params=["heard", "lost"])
def by_channel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether messages on the control channel arrive."""

    async def deaf(self: ControlChannel, *heard: Any) -> None:
        await asyncio.Event().wait()

    if request.param == "lost":
        monkeypatch.setattr(ControlChannel, "run_once", deaf)
    return bool(request.param == "heard")
