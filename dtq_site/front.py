"""The first thing a request meets: event streams stay on the event loop, the rest goes to Django."""

from __future__ import annotations

from collections.abc import Callable

from dtq_site.bridge import AsgiApp, Receive, Scope, Send


class Front:
    """Routes a request to an async application by its exact path, everything else to ``fallback``.

    ``script_name`` is the sub-path behind a proxy. The proxy may strip it or leave it in; applications see it in
    ``root_path`` and in ``path`` either way. ``on_startup`` is called on the loop before the first request.
    """

    def __init__(
        self,
        async_apps: dict[str, AsgiApp],
        fallback: AsgiApp,
        script_name: str = "",
        on_startup: Callable[[], None] = lambda: None,
    ) -> None:
        self._async_apps = async_apps
        self._fallback = fallback
        self._script_name = script_name
        self._on_startup = on_startup

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
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

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._on_startup()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
