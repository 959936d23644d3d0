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
    """How many workers take a queue's tasks, and how many more would if they had not been told to be quiet."""

    taking: int
    quiet: int

    @property
    def words(self) -> str:
        """The same as a sentence, short enough for a tile."""
        if self.taking:
            sentence = "1 worker serves it" if self.taking == 1 else f"{self.taking} workers serve it"
            more = f", {self.quiet} more {'is' if self.quiet == 1 else 'are'} quiet" if self.quiet else ""
            return sentence + more
        if self.quiet:
            return "its only worker is quiet" if self.quiet == 1 else f"its {self.quiet} workers are quiet"
        return "no worker serves it"


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
