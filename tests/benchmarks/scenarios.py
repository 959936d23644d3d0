"""The scenarios. Each gets a fresh stage and returns its figures; rates are per second, times are milliseconds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from tasks_app.domain.snapshot import Actor
from tests.benchmarks.stage import Stage, counting, process_cpu_s

Figures = dict[str, Any]
DRAINED = 20_000
_BENCH = Actor("bench")


def submit_single(stage: Stage) -> Figures:
    """5,000 tasks, one call each, from one producer."""
    one = stage.submission()
    with counting(stage.client) as spent:
        begun = time.perf_counter()
        for _ in range(5000):
            stage.commands.submit(one)
        took = time.perf_counter() - begun
    return {"tasks_per_s": 5000 / took, "commands_per_task": spent.commands / 5000}


def submit_bulk(stage: Stage) -> Figures:
    """50,000 tasks, 500 a call, from one producer; and what a waiting task takes in the server's memory."""
    before = stage.client.info("memory")["used_memory"]
    with counting(stage.client) as spent:
        begun = time.perf_counter()
        stage.submit(50_000)
        took = time.perf_counter() - begun
    used = stage.client.info("memory")["used_memory"] - before
    return {
        "tasks_per_s": 50_000 / took,
        "commands_per_task": spent.commands / 50_000,
        "bytes_per_waiting_task": used / 50_000,
    }


def _drain(task_type: str, processes: int, concurrency: int) -> Callable[[Stage], Figures]:
    """20,000 waiting tasks and that many worker processes: from resume to the last success, submission not counted."""

    def scenario(stage: Stage) -> Figures:
        with stage.workers(processes, concurrency) as pids:
            stage.submit(500, task_type=task_type)  # warms the workers up
            stage.wait_for(lambda: stage.succeeded() == 500)
            stage.commands.pause("default", _BENCH)
            stage.submit(DRAINED, task_type=task_type)
            cpu = [process_cpu_s(pid) for pid in pids]
            with counting(stage.client) as spent:
                begun = time.perf_counter()
                stage.commands.resume("default", _BENCH)
                stage.wait_for(lambda: stage.succeeded() == DRAINED + 500)
                took = time.perf_counter() - begun
            used = sum(process_cpu_s(pid) for pid in pids) - sum(cpu)
        return {
            "tasks_per_s": DRAINED / took,
            "commands_per_task": spent.commands / DRAINED,
            "round_trips_per_task": spent.calls / DRAINED,
            "server_cpu_us_per_task": spent.cpu_s / DRAINED * 1e6,
            "worker_cpu_us_per_task": used / DRAINED * 1e6,
        }

    return scenario


def idle_latency(stage: Stage) -> Figures:
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


def idle_cost(stage: Stage) -> Figures:
    """One idle worker with its scheduler for ten seconds: commands a second and share of a core."""
    with stage.workers(1, 10) as (pid,):
        stage.submit(10)
        stage.wait_for(lambda: stage.succeeded() == 10)
        cpu = process_cpu_s(pid)
        with counting(stage.client) as spent:
            time.sleep(10)
        return {
            "round_trips_per_s": spent.calls / 10,
            "commands_per_s": spent.commands / 10,
            "cpu_percent": (process_cpu_s(pid) - cpu) * 10,
        }


SCENARIOS: dict[str, Callable[[Stage], Figures]] = {
    "submit_single": submit_single,
    "submit_bulk": submit_bulk,
    "drain_noop_1_process": _drain("noop", 1, 200),
    "drain_noop_2_processes": _drain("noop", 2, 200),
    "drain_noop_sync_1_process": _drain("noop_sync", 1, 64),
    "idle_latency": idle_latency,
    "idle_cost": idle_cost,
}
