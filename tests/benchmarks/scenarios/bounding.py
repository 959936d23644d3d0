"""How long any one command holds the server while hundreds of thousands of tasks are moved, looked at and removed."""

from __future__ import annotations

import dataclasses
import itertools
import os
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tasks_app.domain.config import Config
from tasks_app.domain.snapshot import Page, TaskFilter
from tasks_app.domain.status import TaskStatus
from tasks_app.store.commands import MAX_BATCH, Commands, Purged
from tasks_app.store.queries import Queries
from tasks_app.store.scripts import digests
from tasks_app.store.stats import GRAINS
from tests.benchmarks.figures import Figures
from tests.benchmarks.scenarios.draining import BENCH
from tests.benchmarks.stage import Stage
from tests.benchmarks.standstill import Standstill, standstills

TASKS = 300_000
REQUEUED = 100_000
NOTICE_MS = 20_000
RETENTION_S = 20
QUEUES = ("a", "b", "c")
LOGGED_US = 500
LIMIT_MS = 10.0
PATIENCE_S = 300.0
KEPT = 1_000_000
"""Entries that the server's log may hold: every command over half a millisecond of a run."""


def bounded(stage: Stage) -> Figures:
    """300,000 tasks due at once and finished, 300,000 dead, 300,000 waiting; listed, requeued, purged, outlived.

    A scheduler and two workers are at it all the while. ``<verb>_ms`` is the slowest single call of a script, or of a
    plain command, that SLOWLOG saw in the whole run; ``over_10_ms`` counts the calls of any kind that took longer,
    ``<verb>_over_10_ms`` those of one.
    ``<verb>_median_ms`` is that of the calls over half a millisecond. The times are the server's own, by the clock on
    the wall, and the question is how long commands hold it, not how long they wait for a core. So it has one to itself,
    where there are two, and everybody else of the run has the others. ``waited_ms`` is how long it was ready without a
    core all the same, in total. ``core_stopped_ms`` is the longest time in which that core ran nobody
    (``standstill.py``), ``over_10_ms_by_a_stop`` how many calls were over the limit by no more than one such time that
    ended in their second: the log gives no more of the moment.
    """
    config = dataclasses.replace(stage.config, dlq_maxlen=10 * TASKS)
    kept = _Parts(stage, config)
    brief = _Parts(stage, dataclasses.replace(config, task_retention_s=RETENTION_S))
    pid = stage.client.info("server")["process_id"]
    stage.client.config_set("slowlog-max-len", KEPT)
    stage.client.config_set("slowlog-log-slower-than", LOGGED_US)
    waited_ms = _waited_ms(pid)
    with _apart(pid) as core, standstills(core) as stops:
        _run(kept, brief)
    waited_ms = _waited_ms(pid) - waited_ms
    stopped_ms = max((stop.ms for stop in stops), default=0.0)
    figures = _slowest(stage, [config, brief.config], stops)
    return {"waited_ms": waited_ms, "core_stopped_ms": stopped_ms, **figures}


def _run(kept: _Parts, brief: _Parts) -> None:
    with kept.fleet():
        kept.promote()
        kept.kill()
        kept.look()
        kept.requeue()
        kept.purge()
    with brief.fleet():
        brief.outlive()


@contextmanager
def _apart(pid: int) -> Iterator[int]:
    """Keep a process on the first core, and this one and those it starts off it; yields that core."""
    cores = os.sched_getaffinity(0)
    first, *rest = sorted(cores)
    if not rest:
        yield first
        return
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {first})
    os.sched_setaffinity(0, rest)
    try:
        yield first
    finally:
        os.sched_setaffinity(0, cores)


class _Parts:
    """The parts of the run under one configuration."""

    def __init__(self, stage: Stage, config: Config) -> None:
        self.config = config
        self._stage = stage
        self._commands = Commands(stage.client, config)
        self._queries = Queries(stage.client, config)

    @contextmanager
    def fleet(self) -> Iterator[None]:
        """A scheduler and two workers."""
        env = {
            "DTQ_DLQ_MAXLEN": str(self.config.dlq_maxlen),
            "DTQ_TASK_RETENTION_S": str(self.config.task_retention_s),
        }
        with self._stage.processes([["runscheduler"]], env), self._stage.workers(2, 200, **env):
            yield

    def promote(self) -> None:
        seconds, _ = self._stage.client.time()
        self._submit(run_at_ms=seconds * 1000 + NOTICE_MS)
        self._wait(lambda: self._count(TaskStatus.SUCCEEDED) == TASKS)

    def kill(self) -> None:
        self._submit(task_type="bench.failing")
        self._wait(lambda: self._count(TaskStatus.DEAD_LETTERED) == TASKS)

    def look(self) -> None:
        filters = [
            TaskFilter(status=status, queue=queue, task_type=task_type)
            for status in (None, TaskStatus.SUCCEEDED, TaskStatus.DEAD_LETTERED, TaskStatus.RUNNING)
            for queue in (None, *QUEUES)
            for task_type in (None, "noop", "bench.failing", "unknown")
        ]
        for where in (*filters, TaskFilter(worker_id="nobody"), TaskFilter(q="01"), TaskFilter(q="no such key")):
            self._pages(partial(self._queries.tasks, where, limit=200), 3)
        self._pages(partial(self._queries.dead_letters, limit=200), 50)
        for group in self._queries.dead_letter_groups():
            self._pages(partial(self._queries.dead_letters, limit=200, fingerprint=group.fingerprint), 50)
        for window in GRAINS:
            self._queries.series(window)
        self._queries.flows()
        self._queries.queues()
        self._queries.counts()
        self._queries.audit(limit=200)

    def requeue(self) -> None:
        for ids in _chunks(itertools.islice(self._dead(), REQUEUED), MAX_BATCH):
            self._commands.requeue_many(ids, BENCH)
        self._wait(lambda: self._count(TaskStatus.DEAD_LETTERED) == TASKS)

    def purge(self) -> None:
        self._to_the_end(lambda: self._commands.purge_dlq(BENCH))
        for queue in QUEUES:
            self._commands.pause(queue, BENCH)
        self._submit()
        for queue in QUEUES:
            self._to_the_end(partial(self._commands.purge_queue, queue, BENCH))
            self._commands.resume(queue, BENCH)

    def outlive(self) -> None:
        before = self._count(TaskStatus.SUCCEEDED)
        self._submit()
        self._submit(task_type="bench.failing")
        self._wait(lambda: self._count(TaskStatus.SUCCEEDED) == before and not self._count(TaskStatus.DEAD_LETTERED))

    def _wait(self, condition: Callable[[], bool]) -> None:
        self._stage.wait_for(condition, PATIENCE_S)

    def _submit(self, **fields: Any) -> None:
        """``TASKS`` in all queues, 250 a call."""
        ones = [dataclasses.replace(self._stage.submission(queue=queue), **fields) for queue in QUEUES]
        for batch in _chunks(itertools.islice(itertools.cycle(ones), TASKS), 250):
            self._commands.submit_many(batch)

    def _count(self, status: TaskStatus) -> int:
        return self._stage.having(status)

    def _dead(self) -> Iterator[str]:
        cursor = None
        while True:
            page = self._queries.dead_letters(cursor, 200)
            yield from (letter.task_id for letter in page.items)
            if page.next is None:
                return
            cursor = page.next

    @staticmethod
    def _pages(read: Callable[..., Page[Any]], most: int) -> None:
        cursor = None
        for _ in range(most):
            cursor = read(cursor=cursor).next
            if cursor is None:
                return

    @staticmethod
    def _to_the_end(step: Callable[[], Purged]) -> None:
        while step().remaining:
            pass


def _chunks(items: Iterator[Any], size: int) -> Iterator[Sequence[Any]]:
    while chunk := list(itertools.islice(items, size)):
        yield chunk


def _waited_ms(pid: int) -> float:
    """How long the process has been ready without a core."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e6


def _slowest(stage: Stage, configs: Sequence[Config], stops: Sequence[Standstill]) -> Figures:
    names = {digest: verb for config in configs for verb, digest in digests(config).items()}
    took: defaultdict[str, list[float]] = defaultdict(list)
    longest: defaultdict[int, float] = defaultdict(float)
    for stop in stops:
        longest[int(stop.ended_s)] = max(longest[int(stop.ended_s)], stop.ms)
    by_a_stop = 0
    for entry in stage.client.slowlog_get(KEPT):
        words = entry["command"].decode(errors="replace").split(" ")
        name = words[0].lower()
        if name in ("slowlog", "config", "zcount"):
            continue
        if name.startswith("eval"):
            name = names.get(words[1], "script")
        ms = entry["duration"] / 1000
        took[name].append(ms)
        by_a_stop += ms > LIMIT_MS and ms - longest[entry["start_time"]] <= LIMIT_MS
    over = {f"{name}_over_10_ms": sum(ms > LIMIT_MS for ms in times) for name, times in sorted(took.items())}
    figures: Figures = {"over_10_ms": sum(over.values()), "over_10_ms_by_a_stop": by_a_stop}
    figures |= {name: count for name, count in over.items() if count}
    for name, times in sorted(took.items()):
        figures |= {f"{name}_ms": max(times), f"{name}_median_ms": statistics.median(times)}
    return figures
