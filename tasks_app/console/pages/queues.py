"""All queues, and one queue."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from tasks_app.console.fragments import Fragment, LivePage, Reading
from tasks_app.console.pages.tasks import shown_rows
from tasks_app.console.presenters.forecast import Forecast, drain_forecast
from tasks_app.console.presenters.queues import Serving, pausing, purging, serving
from tasks_app.console.presenters.tasks import row
from tasks_app.domain.snapshot import QueueFlow, QueueInfo, TaskFilter, WorkerInfo
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Task, UnreadableTask

RUNNING_SHOWN = 10


@dataclass(frozen=True, slots=True)
class QueueLine:
    """A queue with what the last minutes say of it, and who serves it."""

    info: QueueInfo
    flow: QueueFlow | None
    forecast: Forecast
    serving: Serving


def queue_lines(queues: list[QueueInfo], flows: dict[str, QueueFlow], workers: list[WorkerInfo]) -> list[QueueLine]:
    """The queues with the most waiting first, then by name."""
    lines = []
    for info in queues:
        flow = flows.get(info.name)
        forecast = drain_forecast(info.queued, flow, paused=info.pause is not None)
        lines.append(QueueLine(info, flow, forecast, serving(info.name, workers)))
    return sorted(lines, key=lambda line: (-line.info.queued, line.info.name))


class QueuesReading(Reading):
    """Every queue, the workers and the flow of the last minutes."""

    @cached_property
    def lines(self) -> list[QueueLine]:
        """Every queue, the fullest first."""
        return queue_lines(self.queries.queues(), self.queries.flows(), self.queries.workers())


def build_queues(reading: QueuesReading) -> dict[str, Any]:
    """A line per queue, with its button."""
    return {"lines": [(line, pausing(line.info, reading.rights)) for line in reading.lines]}


queues = LivePage(
    "console/queues.html",
    reading=QueuesReading,
    fragments=[Fragment("queues", "console/_queues.html", build_queues, ["tasks", "queues", "tick"], rows=True)],
)


class QueueReading(Reading):
    """One queue with its bands.

    Raises:
        NotFound: no task ever named it.
    """

    def __init__(self, request: HttpRequest, name: str) -> None:
        super().__init__(request)
        self.info = self.queries.queue(name)

    @cached_property
    def line(self) -> QueueLine:
        """The queue with its flow and forecast."""
        return queue_lines([self.info], self.queries.flows(), self.queries.workers())[0]


def build_queue(reading: QueueReading) -> dict[str, Any]:
    """Counts, bands, pause, forecast and buttons."""
    most = max(reading.info.bands.values(), default=0)
    bands = [(band, count, round(100 * count / most) if most else 0) for band, count in reading.info.bands.items()]
    url = reverse("console:queue-purge", args=[reading.info.name])
    buttons = pausing(reading.info, reading.rights) + purging(url, reading.info.name, reading.rights)
    return {"line": reading.line, "info": reading.info, "bands": bands, "buttons": buttons}


def build_running(reading: QueueReading) -> dict[str, Any]:
    """What runs in this queue now; of a refresh, the rows on the screen as they are now, and how many others run."""
    where = TaskFilter(status=TaskStatus.RUNNING, queue=reading.info.name)
    page = reading.queries.tasks(where, None, RUNNING_SHOWN)
    if not reading.shown:
        return {"rows": [row(task, operator=reading.may_operate) for task in page.items], "info": reading.info}
    others = sum(task.id not in reading.shown for task in page.items)
    more = others == len(page.items) and page.next is not None
    return {
        "rows": shown_rows(reading, reading.shown, _still_runs),
        "fresh": f"{others}{'+' if more else ''} other{'' if others == 1 else 's'} now" if others else "",
        "info": reading.info,
    }


def _still_runs(task: Task | UnreadableTask) -> bool:
    return isinstance(task, UnreadableTask) or task.status is TaskStatus.RUNNING


def _topics(reading: QueueReading) -> list[str]:
    return [f"queue:{reading.info.name}", "queues", "tick"]


queue = LivePage(
    "console/queue.html",
    reading=QueueReading,
    fragments=[
        Fragment("queue", "console/_queue.html", build_queue, _topics),
        Fragment("running", "console/_running.html", build_running, _topics, rows=True),
    ],
    base=lambda reading: {"info": reading.info, "title": reading.info.name},
)
