"""Worker processes at work on what is there."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator

from tasks_app.domain.snapshot import Actor
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.submission import Submission
from tests.benchmarks.figures import Figures
from tests.benchmarks.stage import Stage, counting, process_cpu_s

DRAINED = 20_000
SCALED = 40_000
MIXED = 40_000
WARM_UP = 500
BENCH = Actor("bench")

Scenario = Callable[[Stage], Figures]


def drain(task_type: str, processes: int, concurrency: int) -> Scenario:
    """20,000 waiting tasks and that many worker processes: from resume to the last success, submission not counted."""

    def scenario(stage: Stage) -> Figures:
        with stage.workers(processes, concurrency) as pids:
            stage.submit(WARM_UP, task_type=task_type)
            stage.wait_for(lambda: stage.succeeded() == WARM_UP)
            stage.commands.pause("default", BENCH)
            stage.submit(DRAINED, task_type=task_type)
            cpu = [process_cpu_s(pid) for pid in pids]
            with counting(stage.client) as spent:
                begun = time.perf_counter()
                stage.commands.resume("default", BENCH)
                stage.wait_for_successes(DRAINED + WARM_UP)
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


def slots(task_type: str) -> Scenario:
    """2,000 handlers of 100 ms, 100 at a time in one process: the share of slot time in which a handler ran.

    From resume to the last success; 100 % would take two seconds.
    """

    def scenario(stage: Stage) -> Figures:
        with stage.workers(1, 100):
            stage.submit(100, task_type=task_type, payload={"seconds": 0.001})
            stage.wait_for(lambda: stage.succeeded() == 100)
            stage.commands.pause("default", BENCH)
            stage.submit(2000, task_type=task_type, payload={"seconds": 0.1})
            begun = time.perf_counter()
            stage.commands.resume("default", BENCH)
            stage.wait_for(lambda: stage.succeeded() == 2100)
            took = time.perf_counter() - begun
        return {"slots_used_percent": 2000 * 0.1 / 100 / took * 100, "tasks_per_s": 2000 / took}

    return scenario


def mix(stage: Stage) -> Figures:
    """40,000 tasks on one process: 85 % succeed, 10 % fail once and succeed 0.1 s later, 5 % end as dead letters.

    From resume until the last has ended, so the last retries' delay is in it.
    """
    ended = (TaskStatus.SUCCEEDED, TaskStatus.DEAD_LETTERED)
    noop, flaky, failing = (stage.submission(task_type=t) for t in ("noop", "bench.flaky", "bench.failing"))
    twenty = [noop] * 17 + [flaky] * 2 + [failing]
    with stage.workers(1, 200) as (pid,):
        stage.submit_all(twenty * (WARM_UP // 20))
        stage.wait_for(lambda: stage.having(*ended) == WARM_UP)
        stage.commands.pause("default", BENCH)
        stage.submit_all(twenty * (MIXED // 20))
        cpu = process_cpu_s(pid)
        with counting(stage.client) as spent:
            begun = time.perf_counter()
            stage.commands.resume("default", BENCH)
            stage.wait_for(lambda: stage.having(*ended) == MIXED + WARM_UP)
            took = time.perf_counter() - begun
        used = process_cpu_s(pid) - cpu
    return {
        "tasks_per_s": MIXED / took,
        "commands_per_task": spent.commands / MIXED,
        "server_cpu_us_per_task": spent.cpu_s / MIXED * 1e6,
        "worker_cpu_us_per_task": used / MIXED * 1e6,
    }


def scaled(processes: int, queues: int) -> Scenario:
    """40,000 waiting ``noop`` tasks spread evenly over the queues: from letting the workers go to the last success.

    The workers are stopped by signal meanwhile: resuming 100 queues one by one takes a tenth of the time itself.
    """
    names = [f"q{number}" for number in range(queues)]

    def spread(stage: Stage, count: int) -> Iterator[Submission]:
        ones = [stage.submission(queue=name) for name in names]
        return (ones[number % queues] for number in range(count))

    def scenario(stage: Stage) -> Figures:
        with stage.workers(processes, 200) as pids:
            stage.submit_all(spread(stage, WARM_UP))
            stage.wait_for(lambda: stage.succeeded() == WARM_UP)
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            stage.submit_all(spread(stage, SCALED))
            cpu = sum(process_cpu_s(pid) for pid in pids)
            with counting(stage.client) as spent:
                begun = time.perf_counter()
                for pid in pids:
                    os.kill(pid, signal.SIGCONT)
                stage.wait_for_successes(SCALED + WARM_UP)
                took = time.perf_counter() - begun
            used = sum(process_cpu_s(pid) for pid in pids) - cpu
        return {
            "tasks_per_s": SCALED / took,
            "commands_per_task": spent.commands / SCALED,
            "server_cpu_us_per_task": spent.cpu_s / SCALED * 1e6,
            "worker_cpu_us_per_task": used / SCALED * 1e6,
        }

    return scenario
