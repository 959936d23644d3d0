"""Actions on queues and on the dead letters as a whole."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from tasks_app.console.access import actor_of
from tasks_app.console.actions.answers import Said, answer, ask, failed
from tasks_app.console.actions.guarded import action
from tasks_app.domain.errors import DtqError
from tasks_app.domain.roles import Right
from tasks_app.runtime import commands, queries
from tasks_app.store.commands import Purged
from tasks_app.store.purging import REQUEST_S, purge_steps

REASON_CHARS = 200
DLQ_NAME = "dead letters"
PAUSE_MINUTES = {"15": 15, "60": 60, "240": 240, "1440": 1440}


@action(Right.OPERATE)
def pause(request: HttpRequest, name: str) -> HttpResponse:
    """Stop a queue's tasks from starting. Form: ``reason``, ``minutes`` (empty: until somebody resumes it).

    With ``ask`` nothing is paused yet: the answer is the form that asks for both.
    """
    if request.POST.get("ask"):
        return ask(request, "components/pause.html", {"key": secrets.token_hex(8), "name": name})
    minutes = request.POST.get("minutes", "")
    if minutes and minutes not in PAUSE_MINUTES:
        return answer(request, Said("That is not a length this form offers.", "red", 400))
    reason = request.POST.get("reason", "").strip()[:REASON_CHARS]
    try:
        until = queries().now() + PAUSE_MINUTES[minutes] * 60_000 if minutes else None
        commands().pause(name, actor_of(request), reason, until)
    except DtqError as error:
        return answer(request, failed(error))
    return answer(request, Said(f"Queue {name} is paused. What runs goes on; nothing new starts.", status=200))


@action(Right.OPERATE)
def resume(request: HttpRequest, name: str) -> HttpResponse:
    """Let a queue's tasks start again."""
    try:
        commands().resume(name, actor_of(request))
    except DtqError as error:
        return answer(request, failed(error))
    return answer(request, Said(f"Queue {name} goes on.", status=200))


@action(Right.PURGE, destroys=True)
def purge(request: HttpRequest, name: str) -> HttpResponse:
    """Cancel everything that waits in a queue. Form: ``name``, which must be typed as the queue is called.

    With ``ask``, or under another name, nothing is purged: the answer is the form that asks for the name.
    """
    if not _is_named(request, name):
        what = "Cancels everything that waits in this queue: queued, scheduled and retrying tasks."
        return _ask_for_name(request, name, what)
    actor = actor_of(request)
    return _purged(request, lambda: commands().purge_queue(name, actor), f"in {name}", "cancelled")


@action(Right.PURGE, destroys=True)
def purge_dead_letters(request: HttpRequest) -> HttpResponse:
    """Discard every dead letter. Form: ``name``, which must be ``dead letters``; ``ask`` as for a queue."""
    if not _is_named(request, DLQ_NAME):
        return _ask_for_name(request, DLQ_NAME, "Discards every dead letter for good.")
    actor = actor_of(request)
    return _purged(request, lambda: commands().purge_dlq(actor), "as dead letters", "discarded")


def _is_named(request: HttpRequest, name: str) -> bool:
    return not request.POST.get("ask") and request.POST.get("name", "").strip() == name


def _ask_for_name(request: HttpRequest, name: str, what: str) -> HttpResponse:
    """The question; where it was answered with another name it says so and keeps what was typed."""
    context: dict[str, object] = {
        "key": secrets.token_hex(8),
        "url": request.path,
        "name": name,
        "what": what,
        "typed": request.POST.get("name", ""),
        "wrong": not request.POST.get("ask"),
    }
    return ask(request, "components/purge.html", context)


def _purged(request: HttpRequest, step: Callable[[], Purged], where: str, verb: str) -> HttpResponse:
    """Step until it is empty, or for as long as a request may take; the rest is one more click."""
    purged = Purged(0, 0)
    try:
        for so_far in purge_steps(step, REQUEST_S):
            purged = so_far
    except DtqError as error:
        return answer(request, failed(error, f"{purged.done:,} {verb}, then: {error.message}." if purged.done else ""))
    left = purged.remaining
    rest = f" {left:,} are left {where}: purge again to go on." if left else ""
    return answer(request, Said(f"{purged.done:,} {verb}.{rest}", "amber" if left else "green", 200))
