"""Who may listen to the console's event stream: whoever may see its pages."""

from __future__ import annotations

from collections.abc import MutableMapping
from importlib import import_module
from io import BytesIO
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.core.handlers.asgi import ASGIRequest
from django.db import close_old_connections

from tasks_app import runtime
from tasks_app.console.access import rights_of_user
from tasks_app.domain.errors import StoreUnavailable
from tasks_app.domain.roles import Right
from tasks_app.live.stream import Verdict


async def may_listen(scope: MutableMapping[str, Any], again: bool) -> Verdict:
    """200 for open local mode, and for a session whose user may look; 503 while Redis cannot say; else 401."""
    return Verdict(await sync_to_async(_status, thread_sensitive=False)(scope))


def _status(scope: MutableMapping[str, Any]) -> int:
    try:
        if runtime.open_mode():
            return 200
    except StoreUnavailable:
        return 503
    request = ASGIRequest(dict(scope), BytesIO())
    store = import_module(settings.SESSION_ENGINE).SessionStore
    request.session = store(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    close_old_connections()
    try:
        return 200 if Right.VIEW in rights_of_user(get_user(request)) else 401
    finally:
        close_old_connections()
