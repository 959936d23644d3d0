"""Tasks that ended by their own failures."""

from __future__ import annotations

from collections.abc import Callable

from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app import runtime
from tasks_app.api.auth import actor_of, client_of
from tasks_app.api.base import ApiView, no_body
from tasks_app.api.docs import dead_letters as docs
from tasks_app.api.query import FINGERPRINT, MAX_LIMIT, QueryReader
from tasks_app.api.reach import reached_task
from tasks_app.api.representation import dead_letter_body, dead_letter_group_body, encoded, listing
from tasks_app.api.views.tasks import requeue
from tasks_app.store.commands import Purged
from tasks_app.store.purging import REQUEST_S, purge_steps


class DeadLettersView(ApiView):
    """``/dlq``."""

    reads_query = frozenset({"GET", "HEAD"})

    @docs.DLQ_LIST
    def get(self, request: Request) -> Response:
        """Newest first."""
        with QueryReader(request.GET) as query:
            limit, cursor = query.limit(25), query.cursor()
            fingerprint = query.matching("fingerprint", FINGERPRINT)
        page = runtime.queries().dead_letters(cursor, limit, fingerprint, client_of(request).reach)
        return Response(listing(encoded(map(dead_letter_body, page.items)), page.next))


class DeadLetterGroupsView(ApiView):
    """``/dlq/groups``."""

    spans_queues = True
    reads_query = frozenset({"GET", "HEAD"})

    @docs.DLQ_GROUPS
    def get(self, request: Request) -> Response:
        """The latest seen first."""
        with QueryReader(request.GET) as query:
            limit, cursor = query.limit(MAX_LIMIT), query.cursor()
        page = runtime.queries().dead_letter_group_page(cursor, limit)
        return Response(listing(encoded(map(dead_letter_group_body, page.items)), page.next))


class DeadLetterRequeueView(ApiView):
    """``/dlq/{id}/requeue``: the same as ``/tasks/{id}/requeue``."""

    @docs.DLQ_REQUEUE
    def post(self, request: Request, id: str) -> Response:
        """A dead-lettered or failed task gets a fresh start."""
        return requeue(request, id)


class DeadLetterDiscardView(ApiView):
    """``/dlq/{id}/discard``."""

    @docs.DLQ_DISCARD
    def post(self, request: Request, id: str) -> Response:
        """The record goes, or what is left of one that cannot be read."""
        no_body(request)
        runtime.commands().discard(reached_task(request, id), actor_of(request))
        return Response({"id": id, "discarded": True})


class DeadLettersPurgeView(ApiView):
    """``/dlq/purge``."""

    spans_queues = True

    @docs.DLQ_PURGE
    def post(self, request: Request) -> Response:
        """Steps until nothing is left or the time of one request is used up."""
        no_body(request)
        actor = actor_of(request)
        return purging(lambda: runtime.commands().purge_dlq(actor))


def purging(step: Callable[[], Purged]) -> Response:
    """``{done, remaining}`` after bounded steps; a client repeats the request while something remains."""
    *_, purged = purge_steps(step, REQUEST_S)
    return Response({"done": purged.done, "remaining": purged.remaining})
