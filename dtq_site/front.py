"""The first thing a request meets: event streams stay on the event loop, the rest goes to Django."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.http.request import split_domain_port, validate_host

from dtq_site.bridge import AsgiApp, Receive, Scope, Send


class Front:
    """Routes a request to an async application by its exact path, everything else to ``fallback``.

    ``script_name`` is the sub-path behind a proxy. The proxy may strip it or leave it in; applications see it in
    ``root_path`` and in ``path`` either way. ``on_startup`` is called on the loop before the first request.

    A request under a host name that is not in ``allowed_hosts`` (``*`` allows all) goes to ``fallback`` as well, which
    refuses it: a name of somebody else's that resolves to this machine must not open a stream.
    """

    def __init__(
        self,
        async_apps: dict[str, AsgiApp],
        fallback: AsgiApp,
        script_name: str = "",
        on_startup: Callable[[], None] = lambda: None,
        allowed_hosts: Sequence[str] = ("*",),
    ) -> None:
        self._async_apps = async_apps
        self._fallback = fallback
        self._script_name = script_name
        self._on_startup = on_startup
        self._allowed_hosts = allowed_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            below = self._below_root(scope["path"])
            scope["root_path"] = self._script_name
            scope["path"] = self._script_name + below
            application = self._async_apps.get(below)
            if application is None or not self._is_ours(scope):
                application = self._fallback
            await application(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    def _is_ours(self, scope: Scope) -> bool:
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        return validate_host(split_domain_port(host)[0], self._allowed_hosts)

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
