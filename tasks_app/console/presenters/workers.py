"""What a worker was told, and the buttons to tell it something, for those who may press them."""

from __future__ import annotations

from django.urls import reverse

from tasks_app.console.presenters.buttons import Button
from tasks_app.domain.roles import Right
from tasks_app.domain.snapshot import WorkerInfo
from tasks_app.domain.wish import Wish

_FOLLOWED = {Wish.QUIET: "quiet", Wish.STOP: "draining"}
_WORDS = {Wish.QUIET: "told to be quiet", Wish.STOP: "told to stop"}
_PAST_TELLING = frozenset({"draining", "gone"})


def awaited(info: WorkerInfo) -> str:
    """What the worker was told, unless its state says just that; empty when it was told nothing.

    One that was told to be quiet and leaves does not leave by who told it.
    """
    told = info.told
    return "" if told is None or info.state == _FOLLOWED[told.wish] else _WORDS[told.wish]


def telling(info: WorkerInfo, rights: frozenset[Right]) -> list[Button]:
    """Quiet or resume, whichever applies, and stop; none for a worker that leaves or is gone."""
    wish = info.told and info.told.wish
    if Right.OPERATE not in rights or info.state in _PAST_TELLING or wish is Wish.STOP:
        return []
    if not info.id or "/" in info.id:  # no worker of ours is called so, and no address could name it
        return []
    quiet, resume, stop = (reverse(f"console:worker-{wish}", args=[info.id]) for wish in Wish)
    if wish is Wish.QUIET:
        first = Button("Resume", "play", resume, f"Resume {info.id}")
    else:
        first = Button("Quiet", "pause", quiet, f"Quiet {info.id}")
    return [first, Button("Stop…", "cross", stop, f"Stop… {info.id}", asks=True, danger=True)]
