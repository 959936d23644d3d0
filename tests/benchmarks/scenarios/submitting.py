"""Submission from Python, without HTTP."""

from __future__ import annotations

import time

from tests.benchmarks.figures import Figures
from tests.benchmarks.stage import Stage, counting, memory


def single(stage: Stage) -> Figures:
    """5,000 tasks, one call each, from one producer."""
    one = stage.submission()
    stage.submit(100)  # loads the script and opens the connection
    stage.commands.submit(one)
    with counting(stage.client) as spent:
        begun = time.perf_counter()
        for _ in range(5000):
            stage.commands.submit(one)
        took = time.perf_counter() - begun
    return {
        "tasks_per_s": 5000 / took,
        "commands_per_task": spent.commands / 5000,
        "server_cpu_us_per_task": spent.cpu_s / 5000 * 1e6,
    }


def bulk(stage: Stage) -> Figures:
    """50,000 tasks, 500 a call, from one producer; and what a waiting task takes in the server's memory."""
    stage.submit(500)
    before = memory(stage.client)
    with counting(stage.client) as spent:
        begun = time.perf_counter()
        stage.submit(50_000)
        took = time.perf_counter() - begun
    return {
        "tasks_per_s": 50_000 / took,
        "commands_per_task": spent.commands / 50_000,
        "server_cpu_us_per_task": spent.cpu_s / 50_000 * 1e6,
        "bytes_per_waiting_task": (memory(stage.client) - before) / 50_000,
    }
