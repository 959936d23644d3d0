"""streaq under uvloop."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator

from streaq import Worker

from tests.benchmarks.peers import tally

worker = Worker(
    redis_url=os.environ["BENCH_URL"], queue_name="bench", concurrency=100, anyio_kwargs={"use_uvloop": True}
)


@worker.task
async def noop() -> None:
    """Count the run."""
    tally.ran()


@contextlib.asynccontextmanager
async def connected() -> AsyncIterator[None]:
    """Hold the producer's connections."""
    async with worker:
        yield


async def submit() -> None:
    """Send one task."""
    await noop.enqueue()


async def submit_many(count: int) -> None:
    """Send many in one pipeline."""
    await worker.enqueue_many([noop.enqueue() for _ in range(count)])
