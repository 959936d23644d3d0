"""What every page's frame shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from tasks_app.conf import config
from tasks_app.console.presenters.times import now_ms


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
    ("overview", "Overview", "overview", "o"),
    ("tasks", "Tasks", "tasks", "t"),
    ("dlq", "Dead letters", "dead", "d"),
    ("queues", "Queues", "queues", "q"),
    ("workers", "Workers", "workers", "w"),
    ("audit", "Audit", "audit", "a"),
    ("system", "System", "system", "s"),
)


def frame_context(request: HttpRequest) -> dict[str, Any]:
    """The navigation, the environment, the mode and the clock that the page starts from."""
    settings = config()
    here = request.path
    overview = reverse("console:overview")
    items = []
    for name, label, icon, key in _PLACES:
        url = reverse(f"console:{name}")
        current = here == url if url == overview else here.startswith(url)
        items.append(NavItem(name, label, icon, key, url, current))
    return {
        "nav": items,
        "env_name": settings.env_name,
        "open_mode": settings.open_mode,
        "now": now_ms(),
        "root": overview,
    }
