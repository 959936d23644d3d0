"""Dramatiq, without results, as it comes."""

from __future__ import annotations

import os

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from tests.benchmarks.peers import tally

broker = RedisBroker(url=os.environ["BENCH_URL"])
dramatiq.set_broker(broker)


@dramatiq.actor
def noop() -> None:
    """Count the run."""
    tally.ran()


def submit() -> None:
    """Send one task."""
    noop.send()
