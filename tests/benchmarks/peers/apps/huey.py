"""Huey on a Redis list, without acknowledgement, as it comes. A task that returns nothing stores no result."""

from __future__ import annotations

import os

from huey import RedisHuey

from tests.benchmarks.peers import tally

huey = RedisHuey("bench", url=os.environ["BENCH_URL"])


@huey.task()
def noop() -> None:
    """Count the run."""
    tally.ran()


def submit() -> None:
    """Send one task."""
    noop()
