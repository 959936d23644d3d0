"""Armed mode: where the environment has a name, what cannot be undone wants the password again, for ten minutes."""

from __future__ import annotations

import time

from axes.handlers.proxy import AxesProxyHandler
from axes.helpers import get_credentials
from django.contrib.auth import authenticate
from django.http import HttpRequest

from tasks_app.conf import config
from tasks_app.console.access import is_open

ARMED_S = 600
_UNTIL = "armed_until"


def must_arm(request: HttpRequest) -> bool:
    """True when the session has to be armed before it may destroy anything."""
    return wants_arming() and armed_until(request) is None


def wants_arming() -> bool:
    """True in an environment with a name; in open mode there is nobody whose password could be asked."""
    return bool(config().env_name) and not is_open()


def armed_until(request: HttpRequest) -> int | None:
    """When the session stops being armed, in epoch milliseconds; ``None`` when it is not."""
    until: int = request.session.get(_UNTIL, 0)
    return until if until > _now() else None


def arm(request: HttpRequest) -> None:
    """Let the session destroy things for ``ARMED_S``."""
    request.session[_UNTIL] = _now() + ARMED_S * 1000


def disarm(request: HttpRequest) -> None:
    """Ask again before the next time."""
    request.session.pop(_UNTIL, None)


def is_password(request: HttpRequest, password: str) -> bool:
    """True when it is the signed-in user's. Wrong ones count as failed sign-ins do and lock out alike."""
    name = request.user.get_username()
    if authenticate(request, username=name, password=password) is None:
        return False
    AxesProxyHandler.get_implementation().reset_user_attempts(request, get_credentials(name))
    return True


def _now() -> int:
    return time.time_ns() // 1_000_000
