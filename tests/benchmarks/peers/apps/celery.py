"""Celery, with its results in Redis and late acknowledgement, which is what makes it at least once."""

from __future__ import annotations

import os

from celery import Celery

from tests.benchmarks.peers import tally

app = Celery("bench", broker=os.environ["BENCH_URL"], backend=os.environ["BENCH_URL"])
app.conf.update(
    task_acks_late=True,
    task_default_queue="bench",
    broker_connection_retry_on_startup=True,
    worker_prefetch_multiplier=32,
)


@app.task
def noop() -> None:
    """Count the run."""
    tally.ran()


def submit() -> None:
    """Send one task."""
    noop.delay()
