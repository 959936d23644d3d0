"""Workers: who is there, what each does now."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tasks_app.console.fragments import Fragment, LivePage, Reading
from tasks_app.console.presenters.buttons import Button
from tasks_app.console.presenters.statuses import Look, worker_look
from tasks_app.console.presenters.workers import awaited, telling
from tasks_app.domain.snapshot import WorkerInfo
from tasks_app.domain.task import Task

RUNNING_SHOWN = 3
"""Tasks named per worker; the rest is a click away, so a fleet's page stays small."""
PAGE = 50


@dataclass(frozen=True, slots=True)
class WorkerLine:
    """A worker with the tasks it runs; ``more`` of them are not named here. ``awaited``: what it is told to do.

    ``host``: its host's name, unless its id opens with that.
    """

    info: WorkerInfo
    host: str
    look: Look
    running: list[Task]
    more: int
    used: int
    leads: bool
    awaited: str
    buttons: list[Button]


class WorkersReading(Reading):
    """A page of workers with what they run. The number of round trips does not depend on how many there are.

    ``from`` in the address is the place of the page's first worker. Workers come and go by the handful, so a place
    will do where tasks need a cursor.
    """

    @cached_property
    def start(self) -> int:
        """The place of the first worker that is shown."""
        text = self.params.get("from", "0")
        return min(int(text), 1_000_000) if text.isascii() and text.isdigit() else 0

    @cached_property
    def workers(self) -> list[WorkerInfo]:
        """Every worker, those in trouble first."""
        order = {"gone": 0, "late": 1, "draining": 2, "quiet": 3}
        return sorted(self.queries.workers(), key=lambda info: (order.get(info.state, 4), info.id))

    @cached_property
    def lines(self) -> list[WorkerLine]:
        """The workers that are shown, with what they run."""
        shown = self.workers[self.start : self.start + PAGE]
        ids = [i for info in shown for i in info.running[:RUNNING_SHOWN]]
        tasks = {task.id: task for task in self.queries.rows(ids) if isinstance(task, Task)}
        leader = self.queries.leader()
        return [
            WorkerLine(
                info=info,
                host="" if info.id.startswith(f"{info.host}-") else info.host,
                look=worker_look(info.state),
                running=[tasks[i] for i in info.running[:RUNNING_SHOWN] if i in tasks],
                more=max(0, len(info.running) - RUNNING_SHOWN),
                used=round(100 * info.occupied / info.concurrency) if info.concurrency else 0,
                leads=info.id == leader,
                awaited=awaited(info),
                buttons=telling(info, self.rights),
            )
            for info in shown
        ]


def build_workers(reading: WorkersReading) -> dict[str, Any]:
    """A line per worker, those in trouble first."""
    alive = [info for info in reading.workers if info.state != "gone"]
    return {
        "lines": reading.lines,
        "alive": len(alive),
        "start": reading.start,
        "next": reading.start + PAGE if len(reading.workers) > reading.start + PAGE else None,
        "slots": sum(info.concurrency for info in alive),
        "occupied": sum(info.occupied for info in alive),
    }


workers = LivePage(
    "console/workers.html",
    reading=WorkersReading,
    fragments=[Fragment("workers", "console/_workers.html", build_workers, ["workers", "tick"], rows=True)],
)
