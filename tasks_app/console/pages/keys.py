"""The API keys, for admins."""

from __future__ import annotations

from typing import Any

from tasks_app import runtime
from tasks_app.console.fragments import Fragment, LivePage, Reading
from tasks_app.domain.api_key import Scope
from tasks_app.domain.roles import Right

LASTS = {"30d": "30 days from now", "90d": "90 days from now", "365d": "a year from now", "": "never"}


def build_keys(reading: Reading) -> dict[str, Any]:
    """A line per key, by name."""
    return {"keys": runtime.api_keys().all(), "limit": reading.config.api_rate_limit}


keys = LivePage(
    "console/keys.html",
    reading=Reading,
    fragments=[Fragment("keys", "console/_keys.html", build_keys, ["tick"], rows=True)],
    base=lambda reading: {"scopes": list(Scope), "lasts": LASTS.items(), "limit": reading.config.api_rate_limit},
    right=Right.MANAGE_ACCESS,
)
