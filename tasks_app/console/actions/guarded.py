"""What stands before every action: a right, and in armed mode a password before something is destroyed."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from tasks_app.console.actions.answers import ask
from tasks_app.console.armed import ARMED_S, arm, is_password, must_arm
from tasks_app.console.doors import View, seen_with
from tasks_app.domain.roles import Right

PASSWORD = "password"  # noqa: S105 - the name of a field
NEW_PASSWORD = "new_password"  # noqa: S105
# No page ever holds a password that was sent to us, not even the question before what it was sent for.
_NOT_CARRIED = frozenset({"csrfmiddlewaretoken", PASSWORD, NEW_PASSWORD, "back"})


def action(right: Right, *, destroys: bool | Callable[[HttpRequest], bool] = False) -> Callable[[View], View]:
    """A view that takes POSTs of those who hold ``right``.

    ``destroys``: what it does cannot be undone, so in armed mode it asks for the password first. The question carries
    the form's fields along, so that the answer to it is the action itself. A wrong password asks again.
    """

    def decorate(view: View) -> View:
        @require_POST
        @sensitive_post_parameters(PASSWORD)
        @seen_with(right)
        @functools.wraps(view)
        def wrapper(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
            if (destroys(request) if callable(destroys) else destroys) and must_arm(request):
                password = request.POST.get(PASSWORD)
                if not password or not is_password(request, password):
                    return _ask_for_password(request, wrong=bool(password))
                arm(request)
            return view(request, *args, **kwargs)

        return wrapper

    return decorate


def _ask_for_password(request: HttpRequest, *, wrong: bool) -> HttpResponse:
    fields = [(name, value) for name, values in request.POST.lists() if name not in _NOT_CARRIED for value in values]
    context = {
        "key": secrets.token_hex(8),
        "url": request.path,
        "fields": fields,
        "clears": "ids" in request.POST,
        "wrong": wrong,
        "minutes": ARMED_S // 60,
    }
    return ask(request, "components/arm.html", context)
