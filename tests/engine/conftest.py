"""Shared by the tests of the executor."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.engine.executor_bench import ExecutorBench


@pytest.fixture
async def stand() -> AsyncIterator[ExecutorBench]:
    made = ExecutorBench()
    yield made
    made.gate.set()
    made.executor.give_back_all()
    await made.idle()
    made.executor.close()
