"""The system: leader, server, versions and settings."""

from __future__ import annotations

import dataclasses
import platform
from importlib.metadata import version
from typing import Any

from tasks_app import __version__
from tasks_app.conf import redis_url
from tasks_app.console.fragments import Fragment, LivePage, Reading
from tasks_app.console.presenters import numbers
from tasks_app.domain.config import PREFIX, Config
from tasks_app.logs import without_password

MASK = "•••• set"
_SECRETS = frozenset(spec.name for spec in dataclasses.fields(Config) if not spec.repr)
_PACKAGES = ("Django", "redis", "uvicorn", "django-htmx")


def build_server(reading: Reading) -> dict[str, Any]:
    """The leader and the server's condition."""
    server = reading.queries.server()
    workers = reading.queries.workers()
    evicts = server.eviction_policy not in {"", "noeviction"}
    return {
        "server": server,
        "leader": reading.queries.leader(),
        "alive": sum(1 for info in workers if info.state != "gone"),
        "slots": sum(info.concurrency for info in workers if info.state != "gone"),
        "uptime_ms": server.uptime_s * 1000,
        "warnings": [
            text
            for wrong, text in (
                (evicts, f"Eviction policy {server.eviction_policy}: the server may throw tasks away. Use noeviction."),
                (not server.aof, "Append-only file is off: a restart of the server can lose what was just accepted."),
            )
            if wrong
        ],
    }


def build_settings(reading: Reading) -> dict[str, Any]:
    """Every setting, secrets masked, those that differ from their default marked."""
    config = reading.config
    defaults = Config()
    rows = []
    for spec in dataclasses.fields(config):
        value = getattr(config, spec.name)
        changed = value != getattr(defaults, spec.name)
        rows.append((f"{PREFIX}{spec.name.upper()}", _shown(spec.name, value), _unit(spec.name, value), changed))
    return {
        "settings": rows,
        "versions": [
            ("dtq", __version__),
            ("Python", platform.python_version()),
            *((name, version(name)) for name in _PACKAGES),
        ],
    }


def _shown(name: str, value: object) -> str:
    if name == "redis_url":
        return without_password(redis_url())
    if name in _SECRETS:
        return MASK if value else "not set"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    if value in (None, ""):
        return "not set"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _unit(name: str, value: object) -> str:
    """The unit that a number is given in, and what it comes to when that is easier read; empty for what has none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    if name.endswith("_bytes"):
        return f"bytes, {numbers.size(round(value))}"
    if name.endswith("_ms"):
        return f"ms, {numbers.duration(value)}"
    if name.endswith(("_s", "_delay")):
        return f"s, {numbers.duration(value * 1000)}" if value >= 60 else "s"
    return ""


system = LivePage(
    "console/system.html",
    reading=Reading,
    fragments=[Fragment("server", "console/_server.html", build_server, ["tick"])],
    base=build_settings,
)
