"""Django's WSGI application under an ASGI server."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from dtq_site.bridge import WHOLE_BYTES, WsgiBridge, environ_of
from dtq_site.front import Front

Environ = dict[str, Any]


def scope(path: str = "/tasks", **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 50000),
        "headers": [],
    }
    return made | changes


class Connection:
    """Both directions of one request."""

    def __init__(self, *incoming: dict[str, Any]) -> None:
        self.incoming = list(incoming)
        self.sent: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any]:
        return self.incoming.pop(0)

    async def send(self, message: Any) -> None:
        self.sent.append(dict(message))

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


def bridge(application: Callable[..., Iterable[bytes]], max_body_bytes: int = 1000) -> WsgiBridge:
    return WsgiBridge(application, threads=2, max_body_bytes=max_body_bytes)


def echo(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response("201 Created", [("X-Odd", "ü"), ("Content-Type", "text/plain")])
    return [environ["wsgi.input"].read()]


def part(body: bytes, more: bool) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


async def test_a_short_answer_is_sent_in_two_messages() -> None:
    connection = Connection(part(b"he", True), part(b"llo", False))
    await bridge(echo)(scope(headers=[(b"content-length", b"5")]), connection.receive, connection.send)
    assert connection.sent == [
        {
            "type": "http.response.start",
            "status": 201,
            "headers": [(b"x-odd", b"\xfc"), (b"content-type", b"text/plain")],
        },
        {"type": "http.response.body", "body": b"hello"},
    ]


@pytest.mark.parametrize("length", [None, b"", b"0", b"-1", b"x", b"1001"])
async def test_a_body_of_no_or_too_great_length_is_not_read(length: bytes | None) -> None:
    connection = Connection()
    headers = [] if length is None else [(b"content-length", length)]
    await bridge(echo)(scope(headers=headers), connection.receive, connection.send)
    assert connection.body == b""


async def test_a_sender_that_goes_away_takes_no_thread() -> None:
    called = []

    def application(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        called.append(1)
        return []

    connection = Connection(part(b"he", True), {"type": "http.disconnect"})
    await bridge(application)(scope(headers=[(b"content-length", b"5")]), connection.receive, connection.send)
    assert not called
    assert not connection.sent


async def test_a_long_answer_is_streamed() -> None:
    pieces = [bytes([number]) * (WHOLE_BYTES // 2) for number in range(7)]

    def application(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        start_response("200 OK", [])
        yield from pieces

    connection = Connection()
    await bridge(application)(scope(), connection.receive, connection.send)
    assert connection.body == b"".join(pieces)
    assert [message["type"] for message in connection.sent].count("http.response.start") == 1
    assert [message.get("more_body", False) for message in connection.sent[1:]] == [True, True, False]


async def test_the_answer_is_closed_whatever_happens() -> None:
    closed = []

    class Broken:
        def __iter__(self) -> Broken:
            return self

        def __next__(self) -> bytes:
            raise ZeroDivisionError

        def close(self) -> None:
            closed.append(1)

    def application(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        start_response("200 OK", [])
        return Broken()

    connection = Connection()
    with pytest.raises(ZeroDivisionError):
        await bridge(application)(scope(), connection.receive, connection.send)
    assert closed == [1]


def test_environ_keeps_every_byte_of_the_path_and_the_query() -> None:
    environ = environ_of(scope("/tasks/%C3%BC%2F%FF", query_string="q=ü".encode()), b"")
    assert environ["PATH_INFO"].encode("latin-1") == b"/tasks/\xc3\xbc/\xff"
    assert environ["QUERY_STRING"].encode("latin-1") == "q=ü".encode()


def test_headers_of_one_name_are_joined_and_impostors_dropped() -> None:
    headers = [
        (b"accept", b"a"),
        (b"accept", b"b"),
        (b"cookie", b"c=1"),
        (b"cookie", b"d=2"),
        (b"x_api_key", b"stolen"),
        (b"content-type", b"text/plain"),
    ]
    environ = environ_of(scope(headers=headers), b"")
    assert environ["HTTP_ACCEPT"] == "a,b"
    assert environ["HTTP_COOKIE"] == "c=1;d=2"
    assert environ["CONTENT_TYPE"] == "text/plain"
    assert "HTTP_X_API_KEY" not in environ


@pytest.mark.parametrize(
    ("path", "script_name", "path_info"),
    [
        ("/q/tasks/", "/q", "/tasks/"),
        ("/tasks/", "/q", "/tasks/"),
        ("/queues/", "/q", "/queues/"),
    ],
)
async def test_a_proxy_may_strip_the_sub_path_or_leave_it(path: str, script_name: str, path_info: str) -> None:
    seen: list[Environ] = []

    def application(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        seen.append(environ)
        start_response("200 OK", [])
        return []

    connection = Connection()
    await Front({}, bridge(application), script_name)(scope(path), connection.receive, connection.send)
    assert (seen[0]["SCRIPT_NAME"], seen[0]["PATH_INFO"]) == (script_name, path_info)


async def test_streams_stay_on_the_loop_with_and_without_the_sub_path() -> None:
    seen = []

    async def stream(scope: Any, receive: Any, send: Any) -> None:
        seen.append((scope["root_path"], scope["path"]))

    front = Front({"/events": stream}, bridge(echo), "/q")
    for path in ("/q/events", "/events"):
        await front(scope(path), Connection().receive, Connection().send)
    assert seen == [("/q", "/q/events")] * 2


async def test_lifespan_and_websockets() -> None:
    front = Front({}, bridge(echo))
    connection = Connection({"type": "lifespan.startup"}, {"type": "lifespan.shutdown"})
    await front({"type": "lifespan"}, connection.receive, connection.send)
    assert [message["type"] for message in connection.sent] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]
    socket = Connection()
    await front({"type": "websocket"}, socket.receive, socket.send)
    assert socket.sent == [{"type": "websocket.close", "code": 1000}]
