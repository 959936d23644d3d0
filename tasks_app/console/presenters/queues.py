"""The buttons of queues and of the dead letters as a whole, for those who may press them."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from tasks_app.domain.roles import Right
from tasks_app.domain.snapshot import QueueInfo


@dataclass(frozen=True, slots=True)
class QueueButton:
    """A form with one button. ``asks``: its answer is a question first. ``label`` is what a screen reader says."""

    word: str
    icon: str
    url: str
    label: str
    asks: bool = False
    primary: bool = False
    danger: bool = False


def pausing(info: QueueInfo, rights: frozenset[Right]) -> list[QueueButton]:
    """Pause or resume, whichever applies."""
    if Right.OPERATE not in rights:
        return []
    if info.pause:
        url = reverse("console:queue-resume", args=[info.name])
        return [QueueButton("Resume", "play", url, f"Resume {info.name}", primary=True)]
    url = reverse("console:queue-pause", args=[info.name])
    return [QueueButton("Pause…", "pause", url, f"Pause… {info.name}", asks=True)]


def purging(url: str, what: str, rights: frozenset[Right]) -> list[QueueButton]:
    """Purge, at ``url``; ``what`` is purged."""
    if Right.PURGE not in rights:
        return []
    return [QueueButton("Purge…", "trash", url, f"Purge… {what}", asks=True, danger=True)]
