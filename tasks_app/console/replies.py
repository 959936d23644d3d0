"""Errors as sentences, pages and status codes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string

from tasks_app.console.filters import searched
from tasks_app.console.frame import frame_context
from tasks_app.domain.errors import (
    CancelRequested,
    DtqError,
    IdempotencyConflict,
    InvalidCursor,
    NotFound,
    OperationEnded,
    OperationRunning,
    StoreUnavailable,
    TaskFinished,
    TooManyOperations,
    UnreadableRecord,
    ValidationError,
    WorkerLeaving,
    WrongStatus,
)
from tasks_app.live.outage import keep_out_of_djangos_log, outage_log

STATUS_OF: dict[type[DtqError], int] = {
    NotFound: 404,
    TaskFinished: 410,
    CancelRequested: 409,
    WrongStatus: 409,
    WorkerLeaving: 409,
    OperationEnded: 409,
    OperationRunning: 409,
    TooManyOperations: 409,
    IdempotencyConflict: 409,
    UnreadableRecord: 409,
    ValidationError: 400,
    InvalidCursor: 400,
    StoreUnavailable: 503,
}

_HEADINGS = {
    400: "That address does not make sense",
    404: "Not here",
    409: "Unreadable record",
    503: "Redis does not answer",
}
_ADVICE = {
    400: "A link was cut off, or typed by hand. The list itself is one click away.",
    404: "It was never here, or retention or a discard has removed it.",
    409: "The record in Redis does not decode. It can be discarded.",
    503: "Nothing was lost: workers and this page go on by themselves when it is back.",
}


def _said(error: DtqError) -> str:
    """The error in words; of an address, what is wrong with which part of it."""
    fields = error.details.get("fields")
    if not isinstance(fields, dict):
        return error.message
    return " ".join(f"{name}: {', '.join(problems)}." for name, problems in fields.items())


def status_of(error: DtqError) -> int:
    """The HTTP status that the API gives the same error."""
    return next((status for kind, status in STATUS_OF.items() if isinstance(error, kind)), 500)


def readable_errors(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Turn the queue's errors into a page that says what is wrong, in the frame, with the API's status."""

    @functools.wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except DtqError as error:
            return error_page(request, error)

    return wrapper


def error_page(request: HttpRequest, error: DtqError, heading: str = "", advice: str = "") -> HttpResponse:
    """The page for an error; a fragment's request gets one line, which the live stamp shows.

    A search that failed stands in the box as it was typed, to be mended. ``heading`` and ``advice``: other than usual.
    """
    status = status_of(error)
    if request.headers.get("HX-Request") == "true":
        response = HttpResponse(error.message, content_type="text/plain; charset=utf-8", status=status)
    else:
        context = {
            **frame_context(request),
            "search_text": searched(request),
            "heading": heading or _HEADINGS.get(status, "This did not work"),
            "advice": advice or _ADVICE.get(status, ""),
            "message": _said(error),
            "status": status,
        }
        response = HttpResponse(render_to_string("console/error.html", context, request), status=status)
    if isinstance(error, StoreUnavailable):
        outage_log.refused(request.path, error)
        keep_out_of_djangos_log(response)
        response["Retry-After"] = "2"
    return response
