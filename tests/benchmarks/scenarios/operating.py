"""A bulk action at full size, whose carrier is killed half-way."""

from __future__ import annotations

import os
import signal
import statistics
import time
from collections import Counter
from typing import cast

from tasks_app.domain.operation import Operation
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Task
from tasks_app.store.operations import Operations
from tests.benchmarks.figures import Figures
from tests.benchmarks.stage import Stage
from tests.support.operations import press

DEAD = 100_000
BETWEEN_SUBMITS_S = 0.002
LOOK_EVERY = 10
PATIENCE_S = 60.0
ROWS = 1000


def at_large(stage: Stage) -> Figures:
    """100,000 dead letters, all requeued by one request; the scheduler that carries it is killed (SIGKILL) at half.

    ``answered_ms`` is how long the request took, ``again_status`` how the same request was answered after the kill
    (409: it runs), ``missing_at_half`` how many tasks were neither moved nor dead then. ``pause_s`` is from the kill to
    the first task that the other scheduler moved; ``tasks_per_s`` leaves it out, as do the latencies of a producer that
    submits to another queue all the while, about 2 ms apart. At the end ``done`` and ``skipped`` are what the operation
    says, ``moved_once`` is how many tasks were requeued once by their own records, ``left`` how many are still dead.
    """
    with stage.workers(2, 200, DTQ_DLQ_MAXLEN=str(10 * DEAD)):
        stage.submit(DEAD, task_type="bench.failing")
        stage.wait_for(lambda: stage.having(TaskStatus.DEAD_LETTERED) == DEAD, PATIENCE_S)
    with stage.web(1) as port, stage.processes([["runscheduler"], ["runscheduler"]], {}) as pids:
        stage.wait_for(lambda: stage.queries.leader() is not None, PATIENCE_S)
        begun = time.perf_counter()
        status, body = press(port)
        answered_s = time.perf_counter() - begun
        if (status, body.get("total")) != (202, DEAD):
            raise RuntimeError(f"The request was answered with {status}: {body}")
        carried = _Carried(stage, str(body["id"]))
        first_s = carried.watch(until_done=DEAD // 2)
        _kill_leader(stage, pids)
        killed_at = time.perf_counter()
        half = carried.now()
        missing = DEAD + carried.submitted - stage.having(TaskStatus.QUEUED, TaskStatus.DEAD_LETTERED)
        again, _ = press(port)
        stage.wait_for(lambda: carried.now().done > half.done, PATIENCE_S)
        pause_s = time.perf_counter() - killed_at
        second_s = carried.watch(until_done=DEAD)
        stage.wait_for(lambda: not carried.now().runs, PATIENCE_S)
    ended = carried.now()
    cuts = statistics.quantiles(carried.latencies_ms, n=100)
    return {
        "answered_ms": answered_s * 1000,
        "again_status": again,
        "tasks_per_s": DEAD / (first_s + second_s),
        "pause_s": pause_s,
        "submit_p50_ms": cuts[49],
        "submit_p99_ms": cuts[98],
        "submit_worst_ms": max(carried.latencies_ms),
        "done_at_half": half.done,
        "missing_at_half": missing,
        "done": ended.done,
        "skipped": ended.skips,
        "moved_once": _requeues(stage)[1],
        "left": stage.having(TaskStatus.DEAD_LETTERED),
    }


class _Carried:
    """The operation, and a producer beside it."""

    def __init__(self, stage: Stage, operation_id: str) -> None:
        self._stage = stage
        self._operations = Operations(stage.client, stage.config)
        self._id = operation_id
        self._probe = stage.submission(queue="meanwhile")
        self.latencies_ms: list[float] = []

    @property
    def submitted(self) -> int:
        return len(self.latencies_ms)

    def now(self) -> Operation:
        return self._operations.get(self._id)

    def watch(self, until_done: int) -> float:
        """Submit until the operation has changed so many tasks; the seconds that took."""
        begun = time.perf_counter()
        while self.submitted % LOOK_EVERY or self.now().done < until_done:
            before = time.perf_counter()
            self._stage.commands.submit(self._probe)
            self.latencies_ms.append((time.perf_counter() - before) * 1000)
            if before - begun > PATIENCE_S:
                raise TimeoutError("The operation does not come on")
            time.sleep(BETWEEN_SUBMITS_S)
        return time.perf_counter() - begun


def _kill_leader(stage: Stage, pids: list[int]) -> None:
    owner = stage.queries.leader() or ""
    os.kill(next(pid for pid in pids if f"-{pid}-" in owner), signal.SIGKILL)


def _requeues(stage: Stage) -> Counter[int]:
    """How many of the dead letters were requeued how often, by their own records."""
    index = stage.keys.index("queued", queue="default")
    ids = [raw.decode() for raw in cast(list[bytes], stage.client.zrange(index, 0, -1))]
    counts: Counter[int] = Counter()
    for first in range(0, len(ids), ROWS):
        rows = stage.queries.rows(ids[first : first + ROWS])
        counts.update(row.requeues for row in rows if isinstance(row, Task))
    return counts
