"""What every page's frame shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from tasks_app.conf import config
from tasks_app.console.access import is_open, rights_of
from tasks_app.console.armed import armed_until, wants_arming
from tasks_app.console.presenters.times import now_ms
from tasks_app.domain.errors import StoreUnavailable
from tasks_app.domain.roles import RIGHTS, Right, Role, role_with


@dataclass(frozen=True, slots=True)
class NavItem:
    """``key`` is the letter that goes there after ``g``."""

    name: str
    label: str
    icon: str
    key: str
    url: str
    current: bool


_PLACES = (
    ("overview", "Overview", "overview", "o", Right.VIEW),
    ("tasks", "Tasks", "tasks", "t", Right.VIEW),
    ("dlq", "Dead letters", "dead", "d", Right.VIEW),
    ("queues", "Queues", "queues", "q", Right.VIEW),
    ("workers", "Workers", "workers", "w", Right.VIEW),
    ("operations", "Operations", "play", "p", Right.VIEW),
    ("audit", "Audit", "audit", "a", Right.VIEW),
    ("system", "System", "system", "s", Right.VIEW),
    ("users", "Users", "user", "u", Right.MANAGE_ACCESS),
    ("keys", "API keys", "lock", "k", Right.MANAGE_ACCESS),
)
_ROLE_WORDS = {None: "no role", Role.VIEWER: "view only", Role.OPERATOR: "", Role.ADMIN: "admin"}


def frame_context(request: HttpRequest) -> dict[str, Any]:
    """The navigation, the user's role, the environment, the mode and the clock that the page starts from."""
    here = request.path
    overview = reverse("console:overview")
    items = []
    try:
        rights = rights_of(request)
    except StoreUnavailable:  # the page says so; what it leads to says who may
        rights = RIGHTS[Role.OPERATOR]
    for name, label, icon, key, right in _PLACES:
        if right not in rights:
            continue
        url = reverse(f"console:{name}")
        current = here == url if url == overview else here.startswith(url)
        items.append(NavItem(name, label, icon, key, url, current))
    return {
        "nav": items,
        "role_word": _ROLE_WORDS[role_with(rights)],
        **env_context(request),
        "open_mode": is_open(),
        "root": overview,
    }


def env_context(request: HttpRequest) -> dict[str, Any]:
    """The environment's name, and until when (epoch ms) this session may destroy things in it, if it may."""
    return {
        "env_name": config().env_name,
        "armed_until": armed_until(request) if wants_arming() else None,
        "now": now_ms(),
    }
