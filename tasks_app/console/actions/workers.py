"""Telling a worker to be quiet, to resume or to stop."""

from __future__ import annotations

import secrets

from django.http import HttpRequest, HttpResponse

from tasks_app.console.access import actor_of
from tasks_app.console.actions.answers import Said, answer, ask, failed
from tasks_app.console.actions.guarded import action as guarded
from tasks_app.console.doors import View
from tasks_app.console.presenters.numbers import duration
from tasks_app.domain.errors import DtqError
from tasks_app.domain.roles import Right
from tasks_app.domain.wish import Wish
from tasks_app.runtime import queries, wishes

_SAID = {
    Wish.QUIET: "is told to be quiet: it takes nothing new, finishes what runs, and stays.",
    Wish.RESUME: "is told to take tasks again.",
    Wish.STOP: "is told to stop: it finishes what runs, gives back what takes too long, and exits.",
}


def tell(wish: Wish) -> View:
    """The view that tells a worker ``wish``: 202, as it follows in a moment.

    Form: with ``ask``, which the button to stop sends, it is told nothing yet: the answer is the question.
    """

    @guarded(Right.OPERATE, destroys=wish is Wish.STOP)
    def view(request: HttpRequest, worker_id: str) -> HttpResponse:
        try:
            if request.POST.get("ask"):
                info = queries().worker(worker_id)
                most = None if info.drain_timeout_ms is None else duration(info.drain_timeout_ms)
                return ask(request, "components/stop.html", {"key": secrets.token_hex(8), "info": info, "most": most})
            wishes().tell(worker_id, wish, actor_of(request))
        except DtqError as error:
            return answer(request, failed(error))
        return answer(request, Said(f"Worker {worker_id} {_SAID[wish]}"))

    return view
