"""What stands before every page: the login, a right, and a readable word when Redis cannot say who may."""

from __future__ import annotations

import functools
from collections.abc import Callable
from urllib.parse import urlsplit

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.http import require_safe

from tasks_app.console.access import REFUSALS, is_open, rights_of
from tasks_app.console.replies import error_page
from tasks_app.domain.errors import StoreUnavailable
from tasks_app.domain.roles import Right

View = Callable[..., HttpResponseBase]


def seen_with(right: Right) -> Callable[[View], View]:
    """A view for those who hold ``right``; others are sent to the login, or refused when they are signed in.

    Raises:
        PermissionDenied: the user lacks the right.
    """

    def decorate(view: View) -> View:
        @functools.wraps(view)
        def wrapper(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
            try:
                rights = rights_of(request)
            except StoreUnavailable as error:
                return error_page(request, error)
            if right in rights:
                return view(request, *args, **kwargs)
            if is_open() or request.user.is_authenticated:
                raise PermissionDenied(REFUSALS[right])
            return to_login(request)

        return wrapper

    return decorate


def read_with(right: Right) -> Callable[[View], View]:
    """The same for what is only read: a method that could change something is answered 405."""
    return lambda view: require_safe(seen_with(right)(view))


seen_by_users = read_with(Right.VIEW)


def to_login(request: HttpRequest) -> HttpResponse:
    """To the login and back to the page that is open, as a whole page: a fragment's request is not filled with it."""
    address = f"{reverse('console:login')}?{urlencode({'next': page_of(request)})}"
    if request.headers.get("HX-Request") != "true":
        return HttpResponseRedirect(address)
    return HttpResponse(status=401, headers={"HX-Redirect": address})


def page_of(request: HttpRequest) -> str:
    """The path of the page that the user has open: what is asked for, or where a form or fragment stands."""
    if request.headers.get("HX-Request") == "true":
        current = request.headers.get("HX-Current-URL", "")
    elif request.method in {"GET", "HEAD"}:
        return request.get_full_path()
    else:
        current = request.POST.get("back") or request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(current, {request.get_host()}):
        return reverse("console:overview")
    parts = urlsplit(current)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
