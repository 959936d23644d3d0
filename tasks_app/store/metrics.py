"""What the whole fleet looks like to its monitoring."""

from __future__ import annotations

from dataclasses import dataclass

import redis

from tasks_app.domain.config import Config
from tasks_app.domain.snapshot import QueueInfo, ServerInfo, WorkerInfo
from tasks_app.domain.status import TaskStatus
from tasks_app.store import codec
from tasks_app.store.queries import Queries
from tasks_app.store.reader import Pipeline
from tasks_app.store.scripts import OTHER_TYPES
from tasks_app.store.totals import Pair, Totals


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at everything. Counters count from the beginning of the queue.

    ``totals``: per queue and type the measures of the statistics. ``dead_by_type``: types without totals of their own
    are summed as ``other``. ``overdue``: scheduled tasks whose time has come and that are in no stream yet.
    """

    tasks: dict[TaskStatus, int]
    queues: list[QueueInfo]
    oldest_waits_ms: dict[str, int]
    totals: dict[Pair, dict[str, int]]
    dead_by_type: dict[str, int]
    refusals: dict[str, int]
    workers: list[WorkerInfo]
    leader: str | None
    overdue: int
    server: ServerInfo


class Observer(Totals):
    """Looks at the fleet."""

    def __init__(self, client: redis.Redis, config: Config) -> None:
        super().__init__(client, config)
        self._queries = Queries(client, config)

    def observe(self) -> Observation:
        """Everything, in about fifteen round trips of short commands.

        Six commands a queue, two a lane with something in it, two a worker, one a type, one for each thousand
        counters, and some twenty besides.

        Raises:
            StoreUnavailable: Redis cannot be read.
        """
        totals = self.totals()
        tasks = self._queries.counts()
        overdue, refused = self._condition()
        queues, server = self._queries.queues(), self._queries.server()
        return Observation(
            tasks=tasks,
            queues=queues,
            oldest_waits_ms={q.name: max(0, server.now - q.oldest_at) for q in queues if q.oldest_at is not None},
            totals=totals,
            dead_by_type=self._dead_by_type(sorted({task_type for _, task_type in totals} - {OTHER_TYPES})),
            refusals={codec.name(code): codec.number(times) for code, times in refused.items()},
            workers=self._queries.workers(),
            leader=self._queries.leader(),
            overdue=overdue,
            server=server,
        )

    def _condition(self) -> tuple[int, dict[bytes, bytes]]:
        now = self._queries.now()

        def read(pipe: Pipeline) -> None:
            pipe.zcount(self._keys.schedule, "-inf", now)
            pipe.zcard(self._keys.claimed)
            pipe.hgetall(self._keys.refused)

        due, claimed, refused = self._all(read)
        return due + claimed, refused

    def _dead_by_type(self, types: list[str]) -> dict[str, int]:
        def read(pipe: Pipeline) -> None:
            pipe.zcard(self._keys.index(TaskStatus.DEAD_LETTERED))
            for task_type in types:
                pipe.zcard(self._keys.index(TaskStatus.DEAD_LETTERED, task_type=task_type))

        total, *counts = self._all(read)
        found = dict(zip(types, counts, strict=True))
        if rest := max(0, total - sum(counts)):
            found[OTHER_TYPES] = rest
        return found
