"""What whoever sent too many wrong passwords is told, at the sign-in and wherever a password is asked again."""

from __future__ import annotations

from typing import Any

from axes.helpers import get_cool_off
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from tasks_app.console.actions.answers import Said, answer

TOO_MANY_REQUESTS = 429
_CHARS = 255
"""As many as axes keeps of a name."""


def counted_name(request: HttpRequest, credentials: dict[str, Any] | None) -> str | None:
    """The name that attempts are counted for: another spelling of it is no fresh start.

    Some databases compare names without regard to case, so that each spelling would be good for more guesses.
    """
    name = (credentials or request.POST).get("username")
    return None if name is None else User.normalize_username(name).strip().casefold()[:_CHARS]


def locked_out(request: HttpRequest, original: HttpResponse | None, credentials: dict[str, Any]) -> HttpResponse:
    """The answer while axes lets nobody try. It is the same for names that exist and names that do not."""
    cool_off = get_cool_off(request)
    assert cool_off is not None  # AXES_COOLOFF_TIME is set
    minutes = round(cool_off.total_seconds() / 60)
    text = f"Too many wrong passwords for this name from your address. Wait {minutes} minutes, then try again."
    if request.resolver_match is not None and request.resolver_match.view_name == "console:login":
        context = {"locked": text, "next": request.POST.get("next", "")}
        response = render(request, "console/login.html", context, status=TOO_MANY_REQUESTS)
    else:
        response = answer(request, Said(text, "red", TOO_MANY_REQUESTS))
    response["Retry-After"] = str(minutes * 60)
    return response
