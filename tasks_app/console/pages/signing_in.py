"""Signing in, changing one's password, and ending what an entered password allows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy
from django.utils.timezone import now
from django.views.decorators.http import require_http_methods

from tasks_app.console.actions.answers import Said, answer
from tasks_app.console.actions.guarded import action
from tasks_app.console.armed import disarm as disarm_session
from tasks_app.console.armed import is_password
from tasks_app.console.doors import seen_with
from tasks_app.console.frame import frame_context
from tasks_app.domain.roles import Right

FORM_METHODS = ["GET", "HEAD", "POST"]


class SignIn(LoginView):
    """The login. A session lasts ``DTQ_DJANGO_SESSION_AGE_S`` from here, however much is done in it."""

    template_name = "console/login.html"
    http_method_names = [method.lower() for method in FORM_METHODS]

    def form_valid(self, form: Any) -> HttpResponse:
        """The password was right."""
        response = super().form_valid(form)
        # A moment and not a length, which Django would count from the session's last change on.
        self.request.session.set_expiry(now() + timedelta(seconds=settings.SESSION_COOKIE_AGE))
        type(self.request.session).clear_expired()  # nobody else does
        return response


class _Passwords(PasswordChangeForm):
    """Asks for the old password as the sign-in does: wrong ones are counted, and lock out."""

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request = request

    def clean_old_password(self) -> str:
        """The old password, when it is right."""
        old: str = self.cleaned_data["old_password"]
        if not is_password(self._request, old):
            raise ValidationError("That is not your password.")
        return old


class ChangePassword(PasswordChangeView):
    """A new password for whoever is signed in. Their other sessions end with it, this one goes on."""

    template_name = "console/password.html"
    form_class = _Passwords
    success_url = reverse_lazy("console:overview")

    def get_form_kwargs(self) -> dict[str, Any]:
        """The form needs the request, to count wrong passwords for its address."""
        return {**super().get_form_kwargs(), "request": self.request}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """The page's frame around the form."""
        return {**frame_context(self.request), **super().get_context_data(**kwargs)}

    def form_valid(self, form: Any) -> HttpResponse:
        """The new password is set."""
        messages.info(self.request, "Your password is changed. Your other sessions have ended.", extra_tags="green")
        return super().form_valid(form)


change_password = require_http_methods(FORM_METHODS)(seen_with(Right.VIEW)(ChangePassword.as_view()))


@action(Right.VIEW)
def disarm(request: HttpRequest) -> HttpResponse:
    """Ask for the password again before the next thing that cannot be undone."""
    disarm_session(request)
    return answer(request, Said("Disarmed: what cannot be undone asks for your password again.", status=200))
