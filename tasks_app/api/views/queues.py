"""Queues: their counts, and what an operator does to a whole one."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app import runtime
from tasks_app.api.auth import actor_of, client_of
from tasks_app.api.base import ApiView, body_fields, no_body
from tasks_app.api.docs import queues as docs
from tasks_app.api.query import QueryReader
from tasks_app.api.reach import reached_queue
from tasks_app.api.representation import encoded, listing, queue_body
from tasks_app.api.times import MOMENT_RULE, parse_moment
from tasks_app.api.views.dead_letters import purging
from tasks_app.domain.errors import ValidationError

MAX_REASON = 200


class QueuesView(ApiView):
    """``/queues``."""

    reads_query = frozenset({"GET", "HEAD"})

    @docs.QUEUES_LIST
    def get(self, request: Request) -> Response:
        """Every queue ever used, by name."""
        with QueryReader(request.GET) as query:
            limit, cursor = query.limit_or_all(), query.cursor()
        page = runtime.queries().queue_page(cursor, limit, client_of(request).reach)
        return Response(listing(encoded(map(queue_body, page.items)), page.next))


class QueueView(ApiView):
    """``/queues/{name}``."""

    @docs.QUEUE_SHOW
    def get(self, request: Request, name: str) -> Response:
        """One queue with its priority bands."""
        return show(reached_queue(request, name))


class QueuePauseView(ApiView):
    """``/queues/{name}/pause``."""

    @docs.QUEUE_PAUSE
    def post(self, request: Request, name: str) -> Response:
        """No task of the queue starts once this has answered."""
        reason, until = _pause_fields(body_fields(request, frozenset({"reason", "until"})))
        runtime.commands().pause(reached_queue(request, name), actor_of(request), reason, until)
        return show(name)


class QueueResumeView(ApiView):
    """``/queues/{name}/resume``."""

    @docs.QUEUE_RESUME
    def post(self, request: Request, name: str) -> Response:
        """Tasks of the queue start again."""
        no_body(request)
        runtime.commands().resume(reached_queue(request, name), actor_of(request))
        return show(name)


class QueuePurgeView(ApiView):
    """``/queues/{name}/purge``."""

    @docs.QUEUE_PURGE
    def post(self, request: Request, name: str) -> Response:
        """Its waiting and scheduled tasks become cancelled, in bounded steps."""
        no_body(request)
        queue, actor = reached_queue(request, name), actor_of(request)
        return purging(lambda: runtime.commands().purge_queue(queue, actor))


def show(name: str) -> Response:
    """200 with the queue as it is now."""
    return Response(queue_body(runtime.queries().queue(name)))


def _pause_fields(body: dict[str, Any]) -> tuple[str, int | None]:
    problems: dict[str, list[str]] = {}
    reason, until = body.get("reason"), body.get("until")
    if reason is not None and (not isinstance(reason, str) or len(reason) > MAX_REASON):
        problems["reason"] = [f"must be text of up to {MAX_REASON} characters"]
    ends_at = None
    if until is not None:
        ends_at = parse_moment(until) if isinstance(until, str) else None
        if ends_at is None:
            problems["until"] = [MOMENT_RULE]
    if problems:
        raise ValidationError(problems)
    return reason or "", ends_at
