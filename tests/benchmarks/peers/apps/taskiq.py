"""Taskiq on Redis Streams, with acknowledgement and without a result backend, as its broker comes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator

from taskiq_redis import RedisStreamBroker

from tests.benchmarks.peers import tally

broker = RedisStreamBroker(os.environ["BENCH_URL"], queue_name="bench", consumer_id="0")


@broker.task
async def noop() -> None:
    """Count the run."""
    tally.ran()


@contextlib.asynccontextmanager
async def connected() -> AsyncIterator[None]:
    """Hold the producer's connections."""
    await broker.startup()
    yield
    await broker.shutdown()


async def submit() -> None:
    """Send one task."""
    await noop.kiq()
