"""What surrounds every request, whatever view answers it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from structlog.contextvars import bound_contextvars

from tasks_app.api.errors import plain_response

API_ROOT = "/api/"
_SANE_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")


class RequestIdMiddleware:
    """Gives each request an id, in the logs and in the answer's ``X-Request-ID``, and keeps the API's errors JSON.

    A client's own id is kept when it is harmless: 1 to 128 of ``A-Z a-z 0-9 . _ -``. This one stands outermost, so
    that it sees what Django answers by itself, which under ``/api/`` becomes JSON like every other error.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The inner answer with the id added."""
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        request_id = given if _SANE_ID.fullmatch(given) else uuid.uuid4().hex
        request.request_id = request_id  # type: ignore[attr-defined]  # our own addition
        with bound_contextvars(request_id=request_id):
            response = self._get_response(request)
            if response.status_code >= 400 and _is_foreign_error(request, response):
                response = plain_response(request, response.status_code)
        response["X-Request-ID"] = request_id
        return response


def _is_foreign_error(request: HttpRequest, response: HttpResponseBase) -> bool:
    return (
        request.path_info.startswith(API_ROOT)
        and isinstance(response, HttpResponse)
        and not response.get("Content-Type", "").startswith("application/json")
    )
