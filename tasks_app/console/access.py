"""Who may see the console and who may act. Open local mode has no users; with a key set, Django's users do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from urllib.parse import urlsplit

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.http import require_POST

from tasks_app.conf import config
from tasks_app.domain.snapshot import Actor

View = Callable[..., HttpResponseBase]


def may_view(request: HttpRequest) -> bool:
    """True in open local mode and for every active user."""
    return config().open_mode or request.user.is_authenticated


def may_operate(request: HttpRequest) -> bool:
    """True in open local mode and for staff; other users are viewers."""
    return config().open_mode or (request.user.is_authenticated and request.user.is_staff)


def actor_of(request: HttpRequest) -> Actor:
    """The user as the audit names them."""
    name = request.user.get_username() if request.user.is_authenticated else "open mode"
    return Actor(
        name=name,
        source=request.META.get("REMOTE_ADDR", ""),
        request_id=getattr(request, "request_id", ""),  # set by the outermost middleware, which also logs it
    )


def seen_by_users(view: View) -> View:
    """Ask for a login where one is needed, as a whole page: a fragment's request is sent there too, not filled."""

    @functools.wraps(view)
    def wrapper(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        if may_view(request):
            return view(request, *args, **kwargs)
        login = resolve_url(reverse("console:login"))
        if request.headers.get("HX-Request") != "true":
            return redirect_to_login(request.get_full_path(), login)
        response = HttpResponse(status=401)
        response["HX-Redirect"] = f"{login}?{urlencode({'next': _page_of(request)})}"
        return response

    return wrapper


def operator_action(view: View) -> View:
    """A POST that only operators may send.

    Raises:
        PermissionDenied: the user is a viewer.
    """

    @require_POST
    @seen_by_users
    @functools.wraps(view)
    def wrapper(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        if not may_operate(request):
            raise PermissionDenied("Your user may look but not act. Ask for an operator's account.")
        return view(request, *args, **kwargs)

    return wrapper


def _page_of(request: HttpRequest) -> str:
    current = request.headers.get("HX-Current-URL", "")
    if not url_has_allowed_host_and_scheme(current, {request.get_host()}):
        return reverse("console:overview")
    parts = urlsplit(current)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
