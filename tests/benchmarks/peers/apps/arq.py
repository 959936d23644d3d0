"""arq under uvloop, looking for work every 10 ms instead of every 500. ``python -m ...apps.arq`` runs the worker."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from typing import Any

import uvloop
from arq import Worker, create_pool
from arq.connections import ArqRedis, RedisSettings

from tests.benchmarks.peers import tally

SETTINGS = RedisSettings.from_dsn(os.environ["BENCH_URL"])
_pools: list[ArqRedis] = []


async def noop(ctx: dict[str, Any]) -> None:
    """Count the run."""
    tally.ran()


@contextlib.asynccontextmanager
async def connected() -> AsyncIterator[None]:
    """Hold the producer's pool."""
    _pools.append(await create_pool(SETTINGS))
    yield
    await _pools.pop().aclose()


async def submit() -> None:
    """Send one task."""
    await _pools[0].enqueue_job("noop")


async def _work() -> None:
    worker = Worker(
        [noop], redis_settings=SETTINGS, max_jobs=100, poll_delay=0.01, log_results=False, handle_signals=False
    )
    await worker.async_run()


if __name__ == "__main__":
    uvloop.run(_work())
