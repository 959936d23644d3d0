"""The site as an ASGI application: a small front that answers event streams itself and hands the rest to Django.

Django's own ASGI handler serves this site at less than half the rate of its WSGI handler
(docs/decisions/0002-web-server.md), and a WSGI server would spend a thread on every open event stream. So the front
runs Django's WSGI application in threads, and only what is listed in ``ASYNC_APPS`` stays on the event loop.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import quote_from_bytes

from a2wsgi import WSGIMiddleware
from django.conf import settings

from dtq_site.wsgi import application as django_application

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

# More threads than this compete for the interpreter lock; fewer leave it idle while requests wait for Redis.
THREADS = int(os.environ.get("DTQ_DJANGO_THREADS", "16"))

# Path below the site's root -> application. These answer on the event loop and must not block it.
ASYNC_APPS: dict[str, AsgiApp] = {}


class Front:
    """Routes a request to an async application by its exact path, everything else to a WSGI application."""

    def __init__(self, async_apps: dict[str, AsgiApp], fallback: AsgiApp, script_name: str = "") -> None:
        self._async_apps = async_apps
        self._fallback = fallback
        self._script_name = script_name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            app = self._async_apps.get(self._path(scope), self._fallback)
            await app(self._prepared(scope), receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    def _path(self, scope: Scope) -> str:
        path: str = scope["path"]
        if self._script_name and path.startswith(f"{self._script_name}/"):
            return path[len(self._script_name) :]
        return path

    def _prepared(self, scope: Scope) -> Scope:
        # A proxy may strip the sub-path or leave it in: the application below sees the same either way.
        prepared = {**scope, "root_path": self._script_name, "path": self._script_name + self._path(scope)}
        if not scope["query_string"].isascii():
            # Browsers quote these bytes, curl sends them raw, and the WSGI bridge takes ASCII only.
            prepared["query_string"] = quote_from_bytes(scope["query_string"], safe="%&=+;/?:@!$'()*,~-._").encode()
        return prepared


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


application = Front(
    ASYNC_APPS,
    WSGIMiddleware(django_application, workers=THREADS),  # type: ignore[arg-type]
    settings.FORCE_SCRIPT_NAME or "",
)
