"""dtq itself, through the calls that its own web processes use.

``DTQ_TASK_MODULES`` loads the handlers into workers.
"""

from __future__ import annotations

import os
from typing import Any

from tasks_app.domain.config import Config
from tasks_app.domain.submission import Submission, parse_submission
from tasks_app.handlers import TaskContext, task
from tasks_app.store.commands import Commands
from tasks_app.store.connections import connect
from tests.benchmarks.peers import tally


@task("bench.noop")
async def noop(payload: dict[str, Any], ctx: TaskContext) -> None:
    """Count the run, on the loop."""
    tally.ran()


@task("bench.noop_sync")
def noop_sync(payload: dict[str, Any], ctx: TaskContext) -> None:
    """Count the run, in a thread."""
    tally.ran()


def _producer(url: str) -> tuple[Commands, Submission]:
    config = Config(redis_url=url, max_queue_depth=10_000_000)
    one = parse_submission({"task_type": os.environ.get("BENCH_TASK", "bench.noop")}, config)
    return Commands(connect(url), config), one


if "BENCH_PRODUCER" in os.environ:  # workers load this module for its handlers only
    _commands, _one = _producer(os.environ["BENCH_URL"])


def submit() -> None:
    """Send one task."""
    _commands.submit(_one)


def submit_many(count: int) -> None:
    """Send many in one script call."""
    _commands.submit_many([_one] * count)
