"""``manage.py check``: says what is wrong with the settings, the handlers and the server, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage

from tasks_app import runtime
from tasks_app.conf import config, embedded_dir, embedded_socket, redis_url
from tasks_app.domain.errors import ConfigError, DtqError, StoreUnavailable
from tasks_app.domain.snapshot import ServerInfo
from tasks_app.logs import without_password

SETTINGS_TAG = "dtq"
"""Checks of the settings and handlers: quick, no network."""
SERVER_TAG = "dtq_server"
"""Checks that ask the Redis server."""

OLDEST_REDIS = "6.2"
"""Valkey, whose first version is newer, counts on from there."""


def register() -> None:
    """Register every check with Django."""
    checks.register(check_settings, SETTINGS_TAG)
    checks.register(check_handlers, SETTINGS_TAG)
    checks.register(check_server, SERVER_TAG)


def check_settings(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """E001: a ``DTQ_`` variable has a value that cannot work."""
    problems: list[str] = list(getattr(settings, "SITE_PROBLEMS", ()))
    try:
        config()
    except ConfigError as error:
        problems.insert(0, error.message)
    if not problems:
        return []
    return [checks.Error("; ".join(problems), hint="The settings are listed in docs/settings.md.", id="dtq.E001")]


def check_handlers(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """E002: the modules with task handlers do not load."""
    if check_settings(None):
        return []
    try:
        runtime.registry()
    except DtqError as error:
        return [checks.Error(error.message, id="dtq.E002")]
    except Exception as error:  # noqa: BLE001 - an application's module may raise anything while it is imported
        return [
            checks.Error(
                f"A module with task handlers raised {type(error).__name__} while it was imported: {error}",
                hint="Import it in `manage.py shell` to see the traceback.",
                id="dtq.E002",
            )
        ]
    return []


def check_server(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """W001 unreachable, E003 too old, E004 scattered over a cluster, W002 may evict, W003 forgets in a restart,
    W004 takes no writes.
    """
    if check_settings(None):
        return []
    if config().embedded and not embedded_socket(embedded_dir(config().data_dir)).exists():
        return []  # `manage.py up` starts it
    try:
        server = runtime.queries().server()
    except StoreUnavailable as error:
        return [
            checks.Warning(
                f"Redis at {without_password(redis_url())} does not answer: {error.message}",
                hint="Start it, or correct DTQ_REDIS_URL. Without one, `manage.py up` starts a server of its own.",
                id="dtq.W001",
            )
        ]
    found = judge(server, config().key_prefix)
    try:
        runtime.commands().probe()
    except StoreUnavailable as error:
        found.append(
            checks.Warning(
                f"Redis answers and takes no writes: {error.message}",
                hint="docs/recovery.md says what to do when Redis is full, read-only or cannot write to its disk.",
                id="dtq.W004",
            )
        )
    return found


def judge(server: ServerInfo, key_prefix: str = "dtq") -> list[CheckMessage]:
    """What is to be said about a server that answers."""
    found: list[CheckMessage] = []
    if server.cluster and not key_prefix.startswith("{"):
        found.append(
            checks.Error(
                f"{server.product} is a node of a cluster, and DTQ_KEY_PREFIX={key_prefix} scatters the keys over it.",
                hint="Set DTQ_KEY_PREFIX={dtq}: braces keep all keys on one node.",
                id="dtq.E004",
            )
        )
    if is_too_old(server):
        found.append(
            checks.Error(
                f"{server.product} {server.version} is too old: the queue needs {OLDEST_REDIS} or newer.",
                hint="Upgrade it, or use Valkey.",
                id="dtq.E003",
            )
        )
    if server.eviction_policy != "noeviction":
        found.append(
            checks.Warning(
                f"Redis may throw tasks away: maxmemory-policy is {server.eviction_policy!r}.",
                hint="CONFIG SET maxmemory-policy noeviction (and in redis.conf), so that a full server refuses new "
                "tasks instead of losing old ones.",
                id="dtq.W002",
            )
        )
    if not server.aof and not server.loading:
        what = "is lost in a restart" if not server.snapshots else "of the last minutes is lost in a crash"
        found.append(
            checks.Warning(
                f"Redis writes no append-only file: whatever it holds {what}.",
                hint="CONFIG SET appendonly yes (and in redis.conf).",
                id="dtq.W003",
            )
        )
    return found


def is_too_old(server: ServerInfo) -> bool:
    """True when the server lacks commands that the queue needs."""
    return _version(server.version) < _version(OLDEST_REDIS)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])
