"""Every refusal as one JSON shape, ``{code, message, request_id, details?}``, and the HTTP status of each."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import structlog
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from rest_framework import exceptions
from rest_framework.response import Response

from tasks_app import runtime
from tasks_app.api.representation import encode
from tasks_app.domain.errors import DtqError, MalformedJson, RateLimited
from tasks_app.live.outage import keep_out_of_djangos_log, outage_log

log = structlog.get_logger(__name__)


class BadRequest(DtqError):
    """The request is broken below the level of any field."""

    code = "BAD_REQUEST"


class LengthRequired(DtqError):
    """The body came without its length."""

    code = "LENGTH_REQUIRED"


class BodyTooLarge(DtqError):
    """The whole body is longer than this URL takes."""

    code = "PAYLOAD_TOO_LARGE"


# Each code that can leave the API. A domain error that is not listed is a bug and leaves as INTERNAL_ERROR.
HTTP_STATUS: dict[str, int] = {
    "VALIDATION_ERROR": 400,
    "INVALID_CURSOR": 400,
    "BAD_REQUEST": 400,
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "NOT_ACCEPTABLE": 406,
    "CANCEL_REQUESTED": 409,
    "IDEMPOTENCY_CONFLICT": 409,
    "IDEMPOTENCY_IN_PROGRESS": 409,
    "UNREADABLE_RECORD": 409,
    "OPERATION_ENDED": 409,
    "OPERATION_RUNNING": 409,
    "TOO_MANY_OPERATIONS": 409,
    "WORKER_LEAVING": 409,
    "WRONG_STATUS": 409,
    "TASK_FINISHED": 410,
    "LENGTH_REQUIRED": 411,
    "PAYLOAD_TOO_LARGE": 413,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "IDEMPOTENCY_MISMATCH": 422,
    "QUEUE_FULL": 429,
    "RATE_LIMITED": 429,
    "INTERNAL_ERROR": 500,
    "REDIS_UNAVAILABLE": 503,
}

# Seconds after which the same request may fare better.
RETRY_AFTER_S: dict[str, int] = {"QUEUE_FULL": 5, "RATE_LIMITED": 1, "REDIS_UNAVAILABLE": 2}

_FRAMEWORK_CODES: dict[type[BaseException], str] = {
    exceptions.NotAuthenticated: "UNAUTHENTICATED",
    exceptions.AuthenticationFailed: "UNAUTHENTICATED",
    exceptions.PermissionDenied: "FORBIDDEN",
    exceptions.NotFound: "NOT_FOUND",
    exceptions.MethodNotAllowed: "METHOD_NOT_ALLOWED",
    exceptions.NotAcceptable: "NOT_ACCEPTABLE",
    exceptions.UnsupportedMediaType: "UNSUPPORTED_MEDIA_TYPE",
    exceptions.ParseError: "BAD_REQUEST",
    Http404: "NOT_FOUND",
    PermissionDenied: "FORBIDDEN",
    RequestDataTooBig: "PAYLOAD_TOO_LARGE",
    SuspiciousOperation: "BAD_REQUEST",
    UnreadablePostError: "BAD_REQUEST",
}

# What a client is told where the framework's own words could show internals.
_PLAIN_MESSAGES: dict[str, str] = {
    "BAD_REQUEST": "The request could not be understood",
    "FORBIDDEN": "Not allowed",
    "NOT_FOUND": "No such URL",
    "PAYLOAD_TOO_LARGE": "The body is too large",
    "INTERNAL_ERROR": "Something went wrong here; the request id finds it in the logs",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A refusal on its way out."""

    code: str
    message: str
    details: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """The HTTP status of ``code``."""
        return HTTP_STATUS[self.code]

    def body(self, request_id: str) -> dict[str, Any]:
        """The JSON object."""
        body: dict[str, Any] = {"code": self.code, "message": self.message, "request_id": request_id}
        if self.details:
            body["details"] = self.details
        return body


def problem_of(error: BaseException) -> Problem:
    """What to tell the client about ``error``; ``INTERNAL_ERROR`` for everything that is not foreseen."""
    if isinstance(error, DtqError) and error.code in HTTP_STATUS and error.code != "INTERNAL_ERROR":
        retry = RETRY_AFTER_S.get(error.code)
        if isinstance(error, RateLimited):
            retry = seconds_until(error)
        details = error.details
        if isinstance(error, MalformedJson):
            details = {"fields": {"body": [error.message]}, **details}
        return Problem(error.code, error.message, details, {"Retry-After": str(retry)} if retry else {})
    for kind, code in _FRAMEWORK_CODES.items():
        if isinstance(error, kind):
            message = str(error.detail) if isinstance(error, exceptions.APIException) else _PLAIN_MESSAGES[code]
            header = getattr(error, "auth_header", None)
            return Problem(code, message, headers={"WWW-Authenticate": header} if header else {})
    return Problem("INTERNAL_ERROR", _PLAIN_MESSAGES["INTERNAL_ERROR"])


def seconds_until(error: RateLimited) -> int:
    """What ``Retry-After`` says: whole seconds, and never that it may be tried again too early."""
    return max(1, math.ceil(error.retry_after_ms / 1000))


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's hook: turn whatever a view raised into an answer. What nobody foresaw is logged with its traceback."""
    request, view = context["request"], context["view"]
    problem = problem_of(error)
    if problem.code == "INTERNAL_ERROR":
        log.error("REQUEST_FAILED", method=request.method, path=request.path, exc_info=error)
    elif problem.code == "REDIS_UNAVAILABLE":
        outage_log.refused(request.path, error)
    if request.method == "POST" and getattr(view, "takes_submissions", False):
        runtime.refusals().count(problem.code)
    headers = dict(problem.headers)
    if problem.code == "METHOD_NOT_ALLOWED":
        headers["Allow"] = ", ".join(view.allowed_methods)
    response = Response(problem.body(request_id_of(request)), status=problem.status, headers=headers)
    keep_out_of_djangos_log(response)  # a 500 was logged above
    return response


def plain_response(request: HttpRequest, status: int) -> HttpResponse:
    """The JSON answer for an error that Django made outside any view, such as an unknown host name."""
    code = next((code for code, known in HTTP_STATUS.items() if known == status and code in _PLAIN_MESSAGES), None)
    if code is None:
        code = "INTERNAL_ERROR" if status >= 500 else "BAD_REQUEST"
    body = Problem(code, _PLAIN_MESSAGES[code]).body(request_id_of(request))
    return HttpResponse(encode(body).encode(), status=status, content_type="application/json")


def request_id_of(request: Any) -> str:
    """The id that :class:`~dtq_site.request_id.RequestIdMiddleware` gave the request."""
    found: str = getattr(request, "request_id", "")
    return found
