"""Bulk actions by filter."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app import runtime
from tasks_app.api.auth import ApiClient, actor_of, client_of
from tasks_app.api.base import TASK_ID, ApiView, body_fields, no_body
from tasks_app.api.docs import operations as docs
from tasks_app.api.query import FINGERPRINT, TEXT, QueryReader
from tasks_app.api.reach import require_queue
from tasks_app.api.representation import encoded, listing, operation_body
from tasks_app.api.times import MOMENT_RULE, parse_moment
from tasks_app.domain.errors import NotFound, NotPermitted, ValidationError
from tasks_app.domain.operation import BULK_ACTIONS, Operation, Selection
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.submission import QUEUE_PATTERN, TYPE_PATTERN
from tasks_app.domain.transitions import Action

_PATTERNS = {
    "queue": QUEUE_PATTERN,
    "task_type": TYPE_PATTERN,
    "worker_id": TEXT,
    "fingerprint": FINGERPRINT,
}
_MOMENTS = ("created_after", "created_before")
_FIELDS = frozenset({"status", *_PATTERNS, *_MOMENTS})


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
        action, selection = _asked(body_fields(request, frozenset({"action", "filter"})))
        client = client_of(request)
        if selection.queue is None and not client.reach.everywhere:
            raise NotPermitted("The API key is for some queues: the filter has to name one of them")
        require_queue(client, selection.queue)
        operation = runtime.operations().begin(action, selection, actor_of(request))
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


def _asked(body: dict[str, Any]) -> tuple[Action, Selection]:
    problems: dict[str, list[str]] = {}
    action = body.get("action")
    if action not in BULK_ACTIONS:
        problems["action"] = [f"must be one of {', '.join(BULK_ACTIONS)}"]
    chosen = body.get("filter")
    if not isinstance(chosen, dict):
        raise ValidationError(problems | {"filter": ["must be an object; an empty one means all"]})
    values: dict[str, Any] = {}
    for name, value in chosen.items():
        rule = "is not a field of a filter"
        if name in _PATTERNS:
            rule = "" if isinstance(value, str) and _PATTERNS[name].fullmatch(value) else "is malformed"
        elif name in _MOMENTS:
            value = parse_moment(value) if isinstance(value, str) else None
            rule = MOMENT_RULE if value is None else ""
        elif name == "status":
            rule = "" if value in list(TaskStatus) else f"must be one of {', '.join(TaskStatus)}"
        if rule:
            problems[f"filter.{name[:64]}"] = [rule]
        values[name] = value
    if problems:
        raise ValidationError(problems)
    if "status" in values:
        values["status"] = TaskStatus(values["status"])
    return Action(str(action)), Selection(**values)
