"""Runs a WSGI application under an ASGI server: one hop to a thread and one back for a usual request.

The body is collected on the event loop before a thread is taken, so slow senders cost no thread. A short answer goes
back whole; a long one is streamed. The measurements behind it are in docs/decisions/0002-web-server.md.
"""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote_to_bytes

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

# An answer up to this size goes back in one piece.
WHOLE_BYTES = 256 * 1024


class WsgiBridge:
    """``application`` as an ASGI application for ``http`` scopes, run in at most ``threads`` threads.

    A body that is announced as longer than ``max_body_bytes``, or not announced at all, is not read: the application
    sees its headers and an empty body, and has to refuse it.
    """

    def __init__(self, application: Callable[..., Iterable[bytes]], *, threads: int, max_body_bytes: int) -> None:
        self._application = application
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="web")
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        body = await self._body(scope, receive)
        if body is None:
            return  # the client has gone
        loop = asyncio.get_running_loop()
        answer = _Answer(send, loop)
        rest = await loop.run_in_executor(self._threads, self._run, environ_of(scope, body), answer)
        if not answer.streaming:
            await send(answer.start)
        await send({"type": "http.response.body", "body": rest})

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        length = dict(scope["headers"]).get(b"content-length", b"")
        if not length.isdigit() or not 0 < int(length) <= self._max_body_bytes:
            return b""
        parts: list[bytes] = []
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            more = message.get("more_body", False)
        return b"".join(parts)

    def _run(self, environ: dict[str, Any], answer: _Answer) -> bytes:
        result = self._application(environ, answer.start_response)
        try:
            return answer.take(result)
        finally:
            # Django ends the request here, in the thread in which it began: it may close database connections.
            close = getattr(result, "close", None)
            if close is not None:
                close()


class _Answer:
    """What the application answers; lives in its thread, except for ``start`` and ``streaming`` afterwards."""

    def __init__(self, send: Send, loop: asyncio.AbstractEventLoop) -> None:
        self._send = send
        self._loop = loop
        self.start: Message = {}
        self.streaming = False

    def start_response(self, status: str, headers: list[tuple[str, str]], exc_info: object = None) -> None:
        """WSGI's ``start_response``. Django never uses the ``write`` that it could return."""
        self.start = {
            "type": "http.response.start",
            "status": int(status[:3]),
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        }

    def take(self, parts: Iterable[bytes]) -> bytes:
        """Send what is more than one piece should hold; return the last piece."""
        held: list[bytes] = []
        size = 0
        for part in parts:
            held.append(part)
            size += len(part)
            if size > WHOLE_BYTES:
                self._stream(b"".join(held))
                held, size = [], 0
        return b"".join(held)

    def _stream(self, piece: bytes) -> None:
        if not self.streaming:
            self.streaming = True
            self._wait_for(self.start)
        self._wait_for({"type": "http.response.body", "body": piece, "more_body": True})

    def _wait_for(self, message: Message) -> None:
        """Send on the event loop and wait: a slow reader holds the application back instead of filling the memory."""

        async def send() -> None:
            await self._send(message)

        asyncio.run_coroutine_threadsafe(send(), self._loop).result()


def environ_of(scope: Scope, body: bytes) -> dict[str, Any]:
    """The WSGI environment of an ASGI request; ``root_path`` is what stands before the site's root in its path."""
    script_name = scope.get("root_path", "").encode().decode("latin-1")
    path = unquote_to_bytes(scope["raw_path"]).decode("latin-1")
    host, port = scope.get("server") or ("localhost", 80)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": script_name,
        "PATH_INFO": path.removeprefix(script_name) if path.startswith(f"{script_name}/") else path,
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": host,
        "SERVER_PORT": str(port or 0),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    if scope.get("client"):
        environ["REMOTE_ADDR"] = scope["client"][0]
        environ["REMOTE_PORT"] = str(scope["client"][1])
    for raw_name, raw_value in scope["headers"]:
        if b"_" in raw_name:
            continue  # would be taken for its namesake with hyphens, which a proxy in front may have set or removed
        name = raw_name.decode("latin-1").upper().replace("-", "_")
        key = name if name in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{name}"
        value = raw_value.decode("latin-1")
        if key in environ:
            value = f"{environ[key]}{';' if key == 'HTTP_COOKIE' else ','}{value}"
        environ[key] = value
    return environ
