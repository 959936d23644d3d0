"""Who may see the console and who may act. Open local mode has no users; with a key set, Django's users do."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest

from tasks_app import runtime
from tasks_app.domain.errors import StoreUnavailable
from tasks_app.domain.roles import OPEN_MODE_RIGHTS, Right
from tasks_app.domain.snapshot import Actor

REFUSALS = {
    Right.VIEW: "Your user has no role here. Ask an admin for one.",
    Right.OPERATE: "Your user may look but not act. Ask an admin for the role of an operator.",
    Right.PURGE: "Only admins may purge, or cancel or discard all that match.",
    Right.MANAGE_ACCESS: "Only admins may manage users and keys, and nobody in open local mode.",
}


def rights_of(request: HttpRequest) -> frozenset[Right]:
    """What this request may do; nothing for whoever is not signed in.

    Raises:
        StoreUnavailable: whether anybody may is not known yet (``runtime.open_mode``).
    """
    found: frozenset[Right] | None = getattr(request, "console_rights", None)
    if found is None:
        found = OPEN_MODE_RIGHTS if runtime.open_mode() else rights_of_user(request.user)
        request.console_rights = found  # type: ignore[attr-defined]  # asked several times a page, read once
    return found


def rights_of_user(user: User | AnonymousUser) -> frozenset[Right]:
    """What a user's permissions allow; nothing for a disabled user and for nobody."""
    return frozenset(right for right in Right if user.has_perm(f"console.{right}"))


def is_open() -> bool:
    """True when this is surely open local mode; false also while Redis cannot say whether there are keys."""
    try:
        return runtime.open_mode()
    except StoreUnavailable:
        return False


def actor_of(request: HttpRequest) -> Actor:
    """The user as the audit names them."""
    name = request.user.get_username() if request.user.is_authenticated else "open mode"
    return Actor(
        name=name,
        source=request.META.get("REMOTE_ADDR", ""),
        request_id=getattr(request, "request_id", ""),  # set by the outermost middleware, which also logs it
    )
