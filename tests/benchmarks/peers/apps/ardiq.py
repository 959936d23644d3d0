"""ardiq under uvloop. ``python -m ...apps.ardiq`` runs the worker."""

from __future__ import annotations

import os

import uvloop
from ardiq import Ardiq

from tests.benchmarks.peers import tally

app = Ardiq(os.environ["BENCH_URL"], queue_name="bench", concurrency=200, prefetch=400)


@app.task()
async def noop() -> None:
    """Count the run."""
    tally.ran()


async def submit() -> None:
    """Send one task."""
    await noop.enqueue()


async def submit_many(count: int) -> None:
    """Send many in one round trip."""
    await app.enqueue_many([noop.prepare() for _ in range(count)])


if __name__ == "__main__":
    uvloop.run(app.run())
