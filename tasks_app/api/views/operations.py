"""Bulk actions by filter."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app import runtime
from tasks_app.api.auth import ApiClient, actor_of, client_of
from tasks_app.api.base import TASK_ID, ApiView, body_fields, no_body
from tasks_app.api.docs import operations as docs
from tasks_app.api.query import QueryReader
from tasks_app.api.reach import require_queue
from tasks_app.api.representation import encoded, listing, operation_body
from tasks_app.api.selecting import to_selection
from tasks_app.domain.errors import NotFound, NotPermitted
from tasks_app.domain.operation import Operation


class OperationsView(ApiView):
    """``/operations``."""

    reads_query = frozenset({"GET", "HEAD"})

    @docs.LIST
    def get(self, request: Request) -> Response:
        """Newest first."""
        with QueryReader(request.GET) as query:
            limit, cursor = query.limit(25), query.cursor()
        page = runtime.operations().page(cursor, limit, client_of(request).reach)
        leader = runtime.queries().leader() is not None
        return Response(listing(encoded(operation_body(item, leader=leader) for item in page.items), page.next))

    @docs.BEGIN
    def post(self, request: Request) -> Response:
        """It is recorded; the scheduler's leader does it."""
        action, selection, careful = to_selection(body_fields(request, frozenset({"action", "filter", "careful"})))
        client = client_of(request)
        if selection.queue is None and not client.reach.everywhere:
            raise NotPermitted("The API key is for some queues: the filter has to name one of them")
        require_queue(client, selection.queue)
        operation = runtime.operations().begin(action, selection, actor_of(request), careful=careful)
        return _shown(operation, status=202, headers={"Location": f"{request.path}/{operation.id}"})


class OperationView(ApiView):
    """``/operations/{id}``."""

    @docs.SHOW
    def get(self, request: Request, id: str) -> Response:
        """How far it is."""
        return _shown(_reached(client_of(request), id))


class OperationAbortView(ApiView):
    """``/operations/{id}/abort``."""

    @docs.ABORT
    def post(self, request: Request, id: str) -> Response:
        """It ends where it is."""
        no_body(request)
        operation = _reached(client_of(request), id)
        runtime.operations().abort(operation.id, actor_of(request))
        return _shown(runtime.operations().get(operation.id))


def _shown(operation: Operation, **options: Any) -> Response:
    leader = not operation.runs or runtime.queries().leader() is not None
    return Response(operation_body(operation, leader=leader), **options)


def _reached(client: ApiClient, text: str) -> Operation:
    if TASK_ID.fullmatch(text) is None:
        raise NotFound("No such operation")
    operation = runtime.operations().get(text)
    queue = operation.selection.queue
    if not client.reach.everywhere and (queue is None or not client.reach.covers(queue)):
        raise NotFound(f"There is no operation {text}")
    return operation
