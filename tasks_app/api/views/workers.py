"""The fleet as its heartbeats tell it, and the audit of what people did."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app import runtime
from tasks_app.api.auth import actor_of
from tasks_app.api.base import TASK_ID, WORKER_ID, ApiView, no_body, path_part
from tasks_app.api.docs import workers as docs
from tasks_app.api.query import QueryReader
from tasks_app.api.representation import audit_body, encoded, listing, worker_body
from tasks_app.domain.errors import NotFound
from tasks_app.domain.wish import Wish


class WorkersView(ApiView):
    """``/workers``."""

    spans_queues = True
    reads_query = frozenset({"GET", "HEAD"})

    @docs.WORKERS_LIST
    def get(self, request: Request) -> Response:
        """Every worker that was heard of lately."""
        with QueryReader(request.GET) as query:
            limit, cursor = query.limit_or_all(), query.cursor()
        page = runtime.queries().worker_page(cursor, limit)
        return Response(listing(encoded(map(worker_body, page.items)), page.next))


class WorkerView(ApiView):
    """``/workers/{id}``."""

    spans_queues = True

    @docs.WORKER_SHOW
    def get(self, request: Request, id: str) -> Response:
        """One worker."""
        return Response(worker_body(runtime.queries().worker(path_part(id, WORKER_ID, "worker"))))


class WorkerQuietView(ApiView):
    """``/workers/{id}/quiet``."""

    spans_queues = True

    @docs.WORKER_QUIET
    def post(self, request: Request, id: str) -> Response:
        """It takes no more tasks and stays."""
        return _tell(request, id, Wish.QUIET)


class WorkerResumeView(ApiView):
    """``/workers/{id}/resume``."""

    spans_queues = True

    @docs.WORKER_RESUME
    def post(self, request: Request, id: str) -> Response:
        """It takes tasks again."""
        return _tell(request, id, Wish.RESUME)


class WorkerStopView(ApiView):
    """``/workers/{id}/stop``."""

    spans_queues = True

    @docs.WORKER_STOP
    def post(self, request: Request, id: str) -> Response:
        """It drains and exits."""
        return _tell(request, id, Wish.STOP)


def _tell(request: Request, worker_id: str, wish: Wish) -> Response:
    """202 with the worker as it was told: it follows in a moment."""
    no_body(request)
    told = runtime.wishes().tell(path_part(worker_id, WORKER_ID, "worker"), wish, actor_of(request))
    return Response(worker_body(told), 202)


class AuditView(ApiView):
    """``/audit``."""

    spans_queues = True
    reads_query = frozenset({"GET", "HEAD"})

    @docs.AUDIT_LIST
    def get(self, request: Request) -> Response:
        """Newest first."""
        with QueryReader(request.GET) as query:
            limit, cursor = query.limit(50), query.cursor()
            task = query.matching("task_id", TASK_ID)
        page = runtime.queries().audit(cursor, limit, task)
        return Response(listing(encoded(map(audit_body, page.items)), page.next))


class UnknownView(ApiView):
    """Every other URL below ``/api/v1/``."""

    reads_query = frozenset({"GET", "HEAD", "POST"})

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Without the key nobody learns which URLs exist.

        Raises:
            NotFound: always, whatever the method.
        """
        super().initial(request, *args, **kwargs)
        hint = "; URLs here have no slash at their end" if request.path.endswith("/") else ""
        raise NotFound(f"No such URL{hint}")
