"""The site as an ASGI application: a small front that answers event streams itself and hands the rest to Django.

Django's own ASGI handler serves this site at less than half the rate of its WSGI handler
(docs/decisions/0002-web-server.md), and a WSGI server would spend a thread on every open event stream. So the front
runs Django's WSGI application in threads, and only what is listed in ``ASYNC_APPS`` stays on the event loop.
"""

from __future__ import annotations

import os

from django.conf import settings

from dtq_site.bridge import AsgiApp, Receive, Scope, Send, WsgiBridge
from dtq_site.streams import api_events, console_events
from dtq_site.wsgi import application as django_application

# More threads than this compete for the interpreter lock; fewer leave it idle while requests wait for Redis.
THREADS = int(os.environ.get("DTQ_DJANGO_THREADS", "16"))

# Path below the site's root -> application. These answer on the event loop and must not block it.
ASYNC_APPS: dict[str, AsgiApp] = {"/events": console_events, "/api/v1/events": api_events}


class Front:
    """Routes a request to an async application by its exact path, everything else to ``fallback``.

    ``script_name`` is the sub-path behind a proxy. The proxy may strip it or leave it in; applications see it in
    ``root_path`` and in ``path`` either way.
    """

    def __init__(self, async_apps: dict[str, AsgiApp], fallback: AsgiApp, script_name: str = "") -> None:
        self._async_apps = async_apps
        self._fallback = fallback
        self._script_name = script_name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            below = self._below_root(scope["path"])
            scope["root_path"] = self._script_name
            scope["path"] = self._script_name + below
            await self._async_apps.get(below, self._fallback)(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    def _below_root(self, path: str) -> str:
        if self._script_name and path.startswith(f"{self._script_name}/"):
            return path[len(self._script_name) :]
        return path


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


application = Front(
    ASYNC_APPS,
    WsgiBridge(django_application, threads=THREADS, max_body_bytes=settings.DATA_UPLOAD_MAX_MEMORY_SIZE),
    settings.FORCE_SCRIPT_NAME or "",
)
