"""RQ."""

from __future__ import annotations

import os

from redis import Redis
from rq import Queue

from tests.benchmarks.peers import tally

queue = Queue("bench", connection=Redis.from_url(os.environ["BENCH_URL"]))


def noop() -> None:
    """Count the run."""
    tally.ran()


def submit() -> None:
    """Send one task."""
    queue.enqueue(noop)


def submit_many(count: int) -> None:
    """Send many in one transaction."""
    queue.enqueue_many([Queue.prepare_data(noop) for _ in range(count)])
