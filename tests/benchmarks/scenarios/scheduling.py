"""The scheduler under a flood."""

from __future__ import annotations

import dataclasses
import statistics
import time

from tasks_app.domain.status import TaskStatus
from tests.benchmarks.figures import Figures
from tests.benchmarks.stage import Stage

DUE = 200_000
NOTICE_S = 30
BETWEEN_SUBMITS_S = 0.002
LOOK_EVERY = 10


def due_at_once(stage: Stage) -> Figures:
    """200,000 tasks due at the same moment, one scheduler, no worker: how soon all stand in their streams.

    Timed from that moment. Meanwhile one producer submits to another queue, about 2 ms apart; its latencies are those
    of that time only.
    """
    probe = stage.submission(queue="meanwhile")
    with stage.processes([["runscheduler"]], {}):
        seconds, micros = stage.client.time()
        due = dataclasses.replace(stage.submission(), run_at_ms=seconds * 1000 + micros // 1000 + NOTICE_S * 1000)
        begun = time.perf_counter() - micros % 1000 / 1e6
        stage.submit_all([due] * DUE)
        left = begun + NOTICE_S - time.perf_counter()
        if left < 0:
            raise TimeoutError(f"Submitting {DUE} tasks took longer than {NOTICE_S} s; they were not due at once")
        time.sleep(left)
        latencies: list[float] = []
        waiting, first_s, turn = DUE, 0.0, 0
        while waiting:
            before = time.perf_counter()
            stage.commands.submit(probe)
            latencies.append((time.perf_counter() - before) * 1000)
            turn += 1
            if turn % LOOK_EVERY == 0:
                waiting = stage.having(TaskStatus.PENDING)
                if waiting < DUE and not first_s:
                    first_s = time.perf_counter() - begun - NOTICE_S
            time.sleep(BETWEEN_SUBMITS_S)
        took = time.perf_counter() - begun - NOTICE_S
    cuts = statistics.quantiles(latencies, n=100)
    return {
        "promoted_per_s": DUE / took,
        "first_seen_after_ms": first_s * 1000,
        "submit_p50_ms": cuts[49],
        "submit_p99_ms": cuts[98],
        "submit_worst_ms": max(latencies),
    }
