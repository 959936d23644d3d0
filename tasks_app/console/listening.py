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

from tasks_app.conf import config
from tasks_app.live.stream import Verdict


async def may_listen(scope: MutableMapping[str, Any], again: bool) -> Verdict:
    """200 for open local mode and for a session of an active user, else 401."""
    if config().open_mode:
        return Verdict(200)
    return Verdict(200 if await sync_to_async(_has_user, thread_sensitive=False)(scope) else 401)


def _has_user(scope: MutableMapping[str, Any]) -> bool:
    request = ASGIRequest(dict(scope), BytesIO())
    store = import_module(settings.SESSION_ENGINE).SessionStore
    request.session = store(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    close_old_connections()
    try:
        return bool(get_user(request).is_authenticated)
    finally:
        close_old_connections()
