"""The fleet as Prometheus metrics. Every name here has its row in ``docs/monitoring.md``."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tasks_app import __version__
from tasks_app.domain.config import Config
from tasks_app.domain.status import TERMINAL, TaskStatus
from tasks_app.store.metrics import Observation
from tasks_app.store.scripts import BUCKETS_MS

WORKER_STATES = ("ready", "busy", "quiet", "draining", "late", "gone")
REFUSAL_REASONS = (
    "bad_request",
    "idempotency_in_progress",
    "idempotency_mismatch",
    "internal_error",
    "payload_too_large",
    "queue_full",
    "redis_unavailable",
    "unauthenticated",
    "validation_error",
)
"""Those that are there from the beginning; any code with which the API refuses a submission can join them."""
_WORKING = frozenset({"ready", "busy", "quiet", "draining"})
_BOUNDS = (*(f"{ms / 1000:g}" for ms in BUCKETS_MS), "+Inf")
_SERIES = ("queue", "task_type")


class FleetCollector(Collector):
    """Renders one observation; nothing is counted in this process."""

    def __init__(self, seen: Observation, config: Config) -> None:
        self._seen = seen
        self._config = config

    def collect(self) -> Iterator[Metric]:
        """Every family, also those without a sample yet."""
        yield from self._tasks()
        yield from self._queues()
        yield from self._counters()
        yield self._histogram("dtq_task_wait_seconds", "From being enqueued to the claim, per attempt.", "w")
        yield self._histogram("dtq_task_run_seconds", "From the claim to the written outcome, per attempt.", "r")
        yield from self._fleet()
        yield from self._server()

    def _tasks(self) -> Iterator[Metric]:
        yield _gauge(
            "dtq_tasks",
            "Tasks with a record, by status.",
            ["status"],
            [([status.value], self._seen.tasks[status]) for status in TaskStatus],
        )
        yield _gauge(
            "dtq_dead_letters",
            "Dead-lettered tasks by type.",
            ["task_type"],
            [([task_type], count) for task_type, count in self._seen.dead_by_type.items()],
        )
        yield _gauge(
            "dtq_scheduled_overdue_tasks",
            "Scheduled tasks whose time has come and that are in no stream yet.",
            [],
            [([], self._seen.overdue)],
        )

    def _queues(self) -> Iterator[Metric]:
        queues, waits = self._seen.queues, self._seen.oldest_waits_ms
        for name, text, values in (
            ("waiting_tasks", "Tasks in the queue's streams that no worker has claimed.", [q.queued for q in queues]),
            ("running_tasks", "Tasks that workers hold.", [q.running for q in queues]),
            ("scheduled_tasks", "Delayed tasks and retries.", [q.pending + q.retrying for q in queues]),
            ("dead_letters", "Dead-lettered tasks.", [q.dead_lettered for q in queues]),
            (
                "oldest_wait_seconds",
                "How long the longest waiting task has been in its stream.",
                [waits.get(q.name, 0) / 1000 for q in queues],
            ),
            ("paused", "1 while the queue is paused.", [int(q.pause is not None) for q in queues]),
        ):
            samples = [([queue.name], value) for queue, value in zip(queues, values, strict=True)]
            yield _gauge(f"dtq_queue_{name}", text, ["queue"], samples)
        yield _gauge(
            "dtq_queue_limit_tasks",
            "Waiting and scheduled tasks that a queue may hold before it refuses more.",
            [],
            [([], self._config.max_queue_depth)],
        )

    def _counters(self) -> Iterator[Metric]:
        for name, text, measure in (
            ("submitted", "Tasks accepted.", "submitted"),
            ("started", "Attempts that workers claimed.", TaskStatus.RUNNING.value),
            ("retried", "Attempts that failed and are tried again.", TaskStatus.RETRYING.value),
        ):
            yield self._counter(f"dtq_tasks_{name}", text, measure)
        for name, text, measure in (
            ("entries_absorbed", "Stream entries taken away without a start.", "absorbed"),
            ("leases_lost", "Leases of running attempts that ran out.", "lost"),
            ("outcomes_dropped", "Outcomes that came after their attempt's lease was lost.", "dropped"),
        ):
            yield self._counter(f"dtq_{name}", text, measure)
        finished = CounterMetricFamily("dtq_tasks_finished", "Tasks that ended.", labels=[*_SERIES, "outcome"])
        for series, measures in self._seen.totals.items():
            for outcome in sorted(TERMINAL):
                finished.add_metric([*series, outcome.value], measures.get(outcome.value, 0))
        yield finished
        refusals = CounterMetricFamily(
            "dtq_ingest_refusals", "Submissions refused, by the code of the answer.", labels=["reason"]
        )
        # Zeros included, as Prometheus sees no increase in what it has not seen before.
        for reason, number in (dict.fromkeys(REFUSAL_REASONS, 0) | self._seen.refusals).items():
            refusals.add_metric([reason], number)
        yield refusals

    def _counter(self, name: str, text: str, measure: str) -> Metric:
        family = CounterMetricFamily(name, text, labels=_SERIES)
        for series, measures in self._seen.totals.items():
            family.add_metric(series, measures.get(measure, 0))
        return family

    def _histogram(self, name: str, text: str, letter: str) -> Metric:
        family = HistogramMetricFamily(name, text, labels=_SERIES)
        for series, measures in self._seen.totals.items():
            if f"{letter}s" not in measures:
                continue
            buckets, total = [], 0
            for i, bound in enumerate(_BOUNDS):
                total += measures.get(f"{letter}{i}", 0)
                buckets.append((bound, total))
            family.add_metric(series, buckets, measures[f"{letter}s"] / 1000)
        return family

    def _fleet(self) -> Iterator[Metric]:
        workers = self._seen.workers
        states = [worker.state for worker in workers]
        working = [worker for worker in workers if worker.state in _WORKING]
        yield _gauge(
            "dtq_workers",
            "Worker processes by state.",
            ["state"],
            [([state], states.count(state)) for state in WORKER_STATES],
        )
        yield _gauge(
            "dtq_worker_slots",
            "Tasks that the workers which send heartbeats can run at once.",
            [],
            [([], sum(worker.concurrency for worker in working))],
        )
        yield _gauge(
            "dtq_worker_slots_busy",
            "Slots of these workers that are taken.",
            [],
            [([], sum(worker.occupied for worker in working))],
        )
        yield _gauge(
            "dtq_leader_present", "1 while some scheduler leads.", [], [([], int(self._seen.leader is not None))]
        )

    def _server(self) -> Iterator[Metric]:
        server = self._seen.server
        yield _gauge("dtq_redis_memory_used_bytes", "Memory that Redis uses.", [], [([], server.used_memory)])
        yield _gauge(
            "dtq_redis_memory_max_bytes", "Redis' maxmemory, 0 without a limit.", [], [([], server.max_memory)]
        )
        yield _gauge(
            "dtq_build_info",
            "1, with the versions in the labels.",
            ["version", "python", "redis"],
            [([__version__, platform.python_version(), f"{server.product} {server.version}"], 1)],
        )


def _gauge(name: str, text: str, labels: list[str], samples: Iterable[tuple[list[str], float]]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family
