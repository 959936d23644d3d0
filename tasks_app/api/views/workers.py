"""The fleet as its heartbeats tell it, and the audit of what people did."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app import runtime
from tasks_app.api.base import TASK_ID, WORKER_ID, ApiView, path_part
from tasks_app.api.docs import workers as docs
from tasks_app.api.query import QueryReader
from tasks_app.api.representation import audit_body, encoded, listing, worker_body
from tasks_app.domain.errors import NotFound


class WorkersView(ApiView):
    """``/workers``."""

    spans_queues = True

    @docs.WORKERS_LIST
    def get(self, request: Request) -> Response:
        """Every worker that was heard of lately."""
        return Response(listing(encoded(map(worker_body, runtime.queries().workers())), None))


class WorkerView(ApiView):
    """``/workers/{id}``."""

    spans_queues = True

    @docs.WORKER_SHOW
    def get(self, request: Request, id: str) -> Response:
        """One worker."""
        return Response(worker_body(runtime.queries().worker(path_part(id, WORKER_ID, "worker"))))


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
