"""How an action answers: a toast in place with htmx, a redirect back with a message without."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString, mark_safe

from tasks_app.console.armed import wants_arming
from tasks_app.console.frame import env_context, frame_context
from tasks_app.console.replies import status_of
from tasks_app.domain.errors import DtqError

ASK_AGAIN = 428
"""Precondition required: the operator has to confirm, seeing a fresh count."""


@dataclass(frozen=True, slots=True)
class Said:
    """What an action came to: a sentence, its tone (``green``, ``amber``, ``red``) and the HTTP status."""

    text: str
    tone: str = "green"
    status: int = 202


def failed(error: DtqError, text: str = "") -> Said:
    """An error as a sentence with the API's status for it."""
    status = status_of(error)
    return Said(text or f"{error.message}.", "amber" if status in {404, 409, 410} else "red", status)


def answer(request: HttpRequest, said: Said) -> HttpResponse:
    """Say it where the operator looks. The page then refetches what it shows."""
    if not is_htmx(request):
        messages.add_message(request, messages.INFO, said.text, extra_tags=said.tone)
        return HttpResponseRedirect(_back(request))
    toast = render_to_string("components/toast.html", {"text": said.text, "tone": said.tone})
    body = format_html('<hx-partial hx-target="#toasts" hx-swap="beforeend">{}</hx-partial>', toast)
    return HttpResponse(body + _badge(request), status=said.status)


def ask(request: HttpRequest, question: str, context: dict[str, object], status: int = ASK_AGAIN) -> HttpResponse:
    """Ask before acting, with the template ``question``: the dialog's content with htmx, a page without."""
    if not is_htmx(request):
        page = {**frame_context(request), **context, "question": question, "back": _back(request)}
        return HttpResponse(render_to_string("console/confirm.html", page, request), status=status)
    dialog = render_to_string(question, {**env_context(request), **context}, request)
    body = format_html('<hx-partial hx-target="#dialog" hx-swap="innerHTML">{}</hx-partial>', dialog)
    return HttpResponse(body + _badge(request), status=status)


def _badge(request: HttpRequest) -> SafeString:
    """The environment's badge as it is now: the action may have armed the session."""
    if not wants_arming():
        return mark_safe("")
    badge = render_to_string("components/env.html", env_context(request), request)
    return format_html('<hx-partial hx-target="#env" hx-swap="outerHTML">{}</hx-partial>', badge)


def is_htmx(request: HttpRequest) -> bool:
    """True when htmx sent the form."""
    return request.headers.get("HX-Request") == "true"


def _back(request: HttpRequest) -> str:
    for candidate in (request.POST.get("back", ""), request.headers.get("Referer", "")):
        if candidate and url_has_allowed_host_and_scheme(candidate, {request.get_host()}):
            return candidate
    return reverse("console:overview")
