"""The overview: is anything wrong, and where."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from tasks_app.console.fragments import Fragment, LivePage, Reading
from tasks_app.console.pages.queues import QueueLine, queue_lines
from tasks_app.console.presenters import charts, numbers
from tasks_app.console.presenters.curl import first_line
from tasks_app.console.presenters.statuses import STATUS_LOOKS, worker_look
from tasks_app.console.presenters.tasks import error_line
from tasks_app.console.presenters.waiting import QUIET
from tasks_app.domain.errors import ValidationError
from tasks_app.domain.snapshot import Series, WorkerInfo
from tasks_app.domain.status import TaskStatus

QUEUES_SHOWN = 8
WORKERS_SHOWN = 8
KINDS_SHOWN = 6
ALARMING = frozenset({TaskStatus.DEAD_LETTERED, TaskStatus.FAILED})


class OverviewReading(Reading):
    """The whole queue at a glance, over a window of the statistics."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.window = self.params.get("window", charts.DEFAULT_WINDOW)
        if self.window not in charts.WINDOWS:
            raise ValidationError({"window": [f"must be one of {', '.join(charts.WINDOWS)}"]})

    @cached_property
    def counts(self) -> dict[TaskStatus, int]:
        """Tasks per status."""
        return self.queries.counts()

    @cached_property
    def series(self) -> Series:
        """The window's statistics."""
        return self.queries.series(self.window)

    @cached_property
    def workers(self) -> list[WorkerInfo]:
        """Every worker that was heard of lately."""
        return self.queries.workers()

    @cached_property
    def lines(self) -> list[QueueLine]:
        """Every queue, the fullest first."""
        return queue_lines(self.queries.queues(), self.queries.flows(), self.workers)


def build_tiles(reading: OverviewReading) -> dict[str, Any]:
    """A tile per status, linked to the list it counts; before the first task, how to submit one."""
    tasks, dead = reverse("console:tasks"), reverse("console:dlq")
    base = reading.request.build_absolute_uri(reverse("console:overview"))
    return {
        "nothing_yet": not any(reading.counts.values()),
        "first_line": first_line(base, needs_key=not reading.config.open_mode),
        "tiles": [
            {
                "url": dead if status is TaskStatus.DEAD_LETTERED else f"{tasks}?status={status.value}",
                "look": look,
                "count": reading.counts[status],
                "alarm": status in ALARMING and reading.counts[status] > 0,
            }
            for status, look in STATUS_LOOKS.items()
        ],
    }


def build_pulse(reading: OverviewReading) -> dict[str, Any]:
    """The numbers that decide whether to worry."""
    points = reading.series.points
    waits, runs = [p.waits for p in points], [p.runs for p in points]
    alive = [worker for worker in reading.workers if worker.state != "gone"]
    flows = [line.flow for line in reading.lines if line.flow is not None]
    oldest = min((line.info.oldest_at for line in reading.lines if line.info.oldest_at is not None), default=None)
    paused = [line.info.name for line in reading.lines if line.info.pause is not None]
    ended = sum(p.succeeded + p.failed for p in points)
    return {
        "waiting": sum(line.info.queued for line in reading.lines),
        "oldest_at": oldest,
        "out": sum(flow.out for flow in flows) if reading.lines else None,
        "into": sum(flow.into for flow in flows) if reading.lines else None,
        "wait_p50": charts.window_percentile(waits, 0.5),
        "wait_p95": charts.window_percentile(waits, 0.95),
        "run_p50": charts.window_percentile(runs, 0.5),
        "run_p95": charts.window_percentile(runs, 0.95),
        "failing": f"{100 * sum(p.failed for p in points) / ended:.1f} %" if ended else numbers.UNKNOWN,
        "alive": len(alive),
        "quiet": bool(alive) and all(worker.state == QUIET for worker in alive),
        "occupied": sum(worker.occupied for worker in alive),
        "slots": sum(worker.concurrency for worker in alive),
        "leader": reading.queries.leader(),
        "server": reading.queries.server(),
        "paused": paused,
        "window_words": charts.WINDOWS[reading.window],
    }


def build_charts(reading: OverviewReading) -> dict[str, Any]:
    """The charts over the window."""
    return {"charts": charts.charts(reading.series), "points": reading.series.points}


def build_places(reading: OverviewReading) -> dict[str, Any]:
    """The fullest queues, the workers, and the newest kinds of failure."""
    order = {"gone": 0, "late": 1}
    workers = sorted(reading.workers, key=lambda info: (order.get(info.state, 2), -info.occupied, info.id))
    groups = reading.queries.dead_letter_groups(KINDS_SHOWN)
    return {
        "lines": reading.lines[:QUEUES_SHOWN],
        "more_queues": max(0, len(reading.lines) - QUEUES_SHOWN),
        "leader": reading.queries.leader(),
        "workers": [(info, worker_look(info.state)) for info in workers[:WORKERS_SHOWN]],
        "more_workers": max(0, len(workers) - WORKERS_SHOWN),
        "kinds": [(group, error_line(group.error_class, group.error_message)) for group in groups],
        "more_kinds": max(0, reading.queries.dead_letter_causes() - KINDS_SHOWN),
    }


overview = LivePage(
    "console/overview.html",
    reading=OverviewReading,
    fragments=[
        Fragment("pulse", "console/_pulse.html", build_pulse, ["tick"]),
        Fragment("tiles", "console/_tiles.html", build_tiles, ["tasks"]),
        Fragment("charts", "console/_charts.html", build_charts, ["tick"]),
        Fragment("places", "console/_places.html", build_places, ["tick"], rows=True),
    ],
    base=lambda reading: {"window": reading.window, "windows": charts.WINDOWS.items()},
)
