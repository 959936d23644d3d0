"""The buttons of queues and of the dead letters as a whole, for those who may press them."""

from __future__ import annotations

from django.urls import reverse

from tasks_app.console.presenters.buttons import Button
from tasks_app.domain.roles import Right
from tasks_app.domain.snapshot import QueueInfo


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
