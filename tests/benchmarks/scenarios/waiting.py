"""An idle system: how soon it starts a task, and what it costs meanwhile."""

from __future__ import annotations

import statistics
import time

from tests.benchmarks.figures import Figures
from tests.benchmarks.stage import Stage, counting, process_cpu_s

SETTLE_S = 5
IDLE_S = 20


def latency(stage: Stage) -> Figures:
    """1,000 tasks, each submitted to an idle worker after the one before had ended: submit call to handler start."""
    latencies = []
    with stage.workers(1, 10):
        for i in range(1050):
            before = time.monotonic_ns()
            task_id = stage.commands.submit(stage.submission(task_type="bench.started")).task.id
            stage.wait_for(lambda done=i + 1: stage.succeeded() == done)  # type: ignore[misc]
            if i >= 50:
                latencies.append((int(stage.queries.task(task_id).result_json or 0) - before) / 1e6)
    cuts = statistics.quantiles(latencies, n=100)
    return {"p50_ms": cuts[49], "p95_ms": cuts[94], "p99_ms": cuts[98], "worst_ms": max(latencies)}


def cost(stage: Stage) -> Figures:
    """One idle worker with its scheduler for twenty seconds: what it sends, and shares of a core.

    ``round_trips_per_s``: script calls; ``commands_per_s``: what runs inside scripts, too.
    The clock starts five seconds after the last task, when the leader's first sweeps are through.
    """
    with stage.workers(1, 10) as (pid,):
        stage.submit(10)
        stage.wait_for(lambda: stage.succeeded() == 10)
        time.sleep(SETTLE_S)
        cpu = process_cpu_s(pid)
        with counting(stage.client) as spent:
            time.sleep(IDLE_S)
        return {
            "round_trips_per_s": spent.calls / IDLE_S,
            "commands_per_s": spent.commands / IDLE_S,
            "cpu_percent": (process_cpu_s(pid) - cpu) / IDLE_S * 100,
            "server_cpu_percent": spent.cpu_s / IDLE_S * 100,
        }
