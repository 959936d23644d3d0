"""Actions on all tasks that match a filter, which the scheduler works off."""

from __future__ import annotations

import secrets

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from tasks_app.console.access import actor_of
from tasks_app.console.actions.answers import Said, answer, ask, failed, is_htmx
from tasks_app.console.actions.guarded import action as guarded
from tasks_app.console.doors import View
from tasks_app.console.filters import parse_filter
from tasks_app.console.presenters.operations import chosen_words
from tasks_app.console.presenters.tasks import ACTION_LOOKS
from tasks_app.domain.errors import DtqError, ValidationError
from tasks_app.domain.operation import TOO_MANY_FAIL, TRIALS, Selection
from tasks_app.domain.roles import Right
from tasks_app.domain.transitions import DESTROYS, Action
from tasks_app.runtime import operations, queries

_CARRIED = ("status", "queue", "type", "worker", "since", "kind")


def begin(action: Action) -> View:
    """The view that begins ``action`` on all that match, once the operator has seen how many that are.

    Form: the filter as a list's address has it, ``kind`` (a fingerprint), ``confirmed`` after the question, which may
    add ``careful``. What destroys takes the right to purge, as it empties what it is let loose on.
    """

    @guarded(Right.PURGE if action in DESTROYS else Right.OPERATE, destroys=action in DESTROYS)
    def view(request: HttpRequest) -> HttpResponse:
        try:
            selection = _selection(request)
            if not request.POST.get("confirmed"):
                return ask(request, "components/confirm_all.html", _question(request, action, selection))
            operations().begin(action, selection, actor_of(request), careful=bool(request.POST.get("careful")))
        except DtqError as error:
            return answer(request, failed(error))
        page = reverse("console:operations")
        return HttpResponse(headers={"HX-Redirect": page}) if is_htmx(request) else HttpResponseRedirect(page)

    return view


@guarded(Right.OPERATE)
def abort(request: HttpRequest, operation_id: str) -> HttpResponse:
    """End an operation where it is."""
    try:
        operations().abort(operation_id, actor_of(request))
    except DtqError as error:
        return answer(request, failed(error))
    return answer(request, Said("Aborted. What it has done stays done.", status=200))


def _selection(request: HttpRequest) -> Selection:
    """Raises ValidationError."""
    if request.POST.get("q"):
        raise ValidationError({"q": ["no operation goes by a text"]})
    where = parse_filter(request.POST).where(queries().now())
    return Selection(
        status=where.status,
        queue=where.queue,
        task_type=where.task_type,
        worker_id=where.worker_id,
        fingerprint=request.POST.get("kind", "")[:128] or None,
        created_after=where.created_after,
    )


def _question(request: HttpRequest, action: Action, selection: Selection) -> dict[str, object]:
    return {
        "key": secrets.token_hex(8),
        "action": action,
        "url": reverse(f"console:operations-{action}"),
        "look": ACTION_LOOKS[action],
        "trials": TRIALS if action is Action.REQUEUE else (),
        "too_many": f"{TOO_MANY_FAIL:.0%}",
        "reckoning": operations().reckon(action, selection),
        "chosen": chosen_words(selection),
        "fields": [(name, request.POST[name]) for name in _CARRIED if request.POST.get(name)],
    }
