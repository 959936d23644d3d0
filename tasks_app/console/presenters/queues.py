"""Who serves a queue; and the buttons of queues and of the dead letters as a whole, for those who may press them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.urls import reverse

from tasks_app.console.presenters.buttons import Button
from tasks_app.console.presenters.waiting import ALIVE, QUIET, serves
from tasks_app.domain.roles import Right
from tasks_app.domain.snapshot import QueueInfo, WorkerInfo


@dataclass(frozen=True, slots=True)
class Serving:
    """How many workers take a queue's tasks, and how many more serve it but were told to be quiet."""

    taking: int
    quiet: int

    @property
    def words(self) -> str:
        """The same in words, few enough for a tile."""
        total = self.taking + self.quiet
        if not total:
            return "no worker"
        workers = "1 worker" if total == 1 else f"{total} workers"
        if not self.quiet:
            return workers
        if self.taking:
            return f"{workers}, {self.quiet} quiet"
        return f"{workers}, quiet" if total == 1 else f"{workers}, all quiet"


def serving(queue: str, workers: Iterable[WorkerInfo]) -> Serving:
    """Count those that serve ``queue``; those that leave or are gone do not."""
    states = [worker.state for worker in workers if serves(worker, queue)]
    return Serving(sum(state in ALIVE for state in states), states.count(QUIET))


def pausing(info: QueueInfo, rights: frozenset[Right]) -> list[Button]:
    """Pause or resume, whichever applies."""
    if Right.OPERATE not in rights:
        return []
    if info.pause:
        url = reverse("console:queue-resume", args=[info.name])
        return [Button("Resume", "play", url, f"Resume {info.name}", primary=True)]
    url = reverse("console:queue-pause", args=[info.name])
    return [Button("Pause…", "pause", url, f"Pause… {info.name}", asks=True)]


def purging(url: str, what: str, rights: frozenset[Right]) -> list[Button]:
    """Purge, at ``url``; ``what`` is purged."""
    if Right.PURGE not in rights:
        return []
    return [Button("Purge…", "trash", url, f"Purge… {what}", asks=True, danger=True)]
