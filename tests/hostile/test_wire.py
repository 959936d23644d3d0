"""Requests that no client library would send, and headers that anybody can forge, against the real web process."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    import redis

    from tasks_app.store.queries import Queries
    from tests.browser.site import Site

CLOSE = b"Host: localhost\r\nConnection: close\r\n"
pytestmark = pytest.mark.real_redis


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: str


def parsed(raw: bytes) -> Reply:
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return Reply(int(first.split()[1]), headers, body.decode())


def exchange(site: Site, *parts: bytes) -> bytes:
    """Send ``parts`` on one connection; everything that came back until the server closed it."""
    with socket.create_connection(("127.0.0.1", site.port), timeout=10) as connection:
        for part in parts:
            try:
                connection.sendall(part)
            except (BrokenPipeError, ConnectionResetError):
                break  # it has seen enough
        received = b""
        try:
            while chunk := connection.recv(65536):
                received += chunk
        except ConnectionResetError:
            pass  # closed with bytes of ours unread, after its answer
    return received


def get(site: Site, path: str = "/health", *headers: str) -> Reply:
    lines = "".join(f"{header}\r\n" for header in headers).encode()
    return parsed(exchange(site, b"GET " + path.encode() + b" HTTP/1.1\r\n" + CLOSE + lines + b"\r\n"))


def refused(reply: Reply, status: int, code: str) -> None:
    assert reply.status == status, reply
    body = json.loads(reply.body)
    assert body["code"] == code
    assert body["request_id"] == reply.headers["x-request-id"]
    assert reply.headers["connection"] == "close"


def test_headers_of_a_usual_size_are_fine(site: Site) -> None:
    assert get(site, "/health", "X-Big: " + "a" * 30_000).status == 200


@pytest.mark.parametrize(
    "parts",
    [
        (b"GET /health HTTP/1.1\r\n" + CLOSE + b"X-Big: " + b"a" * 100_000 + b"\r\n\r\n",),
        (b"GET /health HTTP/1.1\r\n" + CLOSE + b"".join(b"X-%d: aaaa\r\n" % n for n in range(5000)) + b"\r\n",),
        (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n" + CLOSE + b"\r\n",),
        (b"GET /health?" + b"a" * 50_000, b"a" * 50_000),
        (b"GET /health HTTP/1.1\r\nX-Endless: ", *[b"a" * 10_000] * 2000),
        (b"POST /api/v1/tasks HTTP/1.1\r\n" + CLOSE, *[b"X-Endless: " + b"a" * 1000 + b"\r\n"] * 2000),
    ],
    ids=[
        "a long value",
        "many headers",
        "a long address",
        "an unfinished address",
        "an endless value",
        "endless lines",
    ],
)
def test_a_head_that_is_too_long_is_refused_before_it_is_whole(site: Site, parts: tuple[bytes, ...]) -> None:
    refused(parsed(exchange(site, *parts)), 431, "HEADERS_TOO_LARGE")


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: abc\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: 1e3\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: 99999999999999999999999\r\n",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: nonsense\r\nContent-Length: 5\r\n",
        b"No colon\r\n",
        b"Bad\x00: name\r\n",
        b"X: a\x00b\r\n",
        b" folded: first\r\n",
    ],
)
def test_a_broken_head_is_refused_as_json(site: Site, head: bytes) -> None:
    request = b"POST /api/v1/tasks HTTP/1.1\r\n" + CLOSE + b"Content-Type: application/json\r\n" + head
    refused(parsed(exchange(site, request + b"\r\nhello")), 400, "BAD_REQUEST")


@pytest.mark.parametrize("noise", [b"\x16\x03\x01\x02\x00\x01", b"hello\r\n\r\n", b"GET\r\n\r\n", b"\xff" * 1000])
def test_noise_is_refused(site: Site, noise: bytes) -> None:
    refused(parsed(exchange(site, noise)), 400, "BAD_REQUEST")


def test_a_connection_is_used_again_after_a_long_body(site: Site) -> None:
    body = json.dumps({"task_type": "echo", "payload": {"a": "x" * 200_000}}).encode()
    head = b"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
    request = head % len(body) + b"\r\n" + body
    raw = exchange(site, request, request[:100_000], request[100_000:], b"GET /health HTTP/1.1\r\n" + CLOSE + b"\r\n")
    assert raw.count(b"HTTP/1.1 202") == 2
    assert raw.count(b"HTTP/1.1 200") == 1


@pytest.mark.parametrize(
    ("announced", "status"), [(b"Transfer-Encoding: chunked", 411), (b"Content-Length: 400000000", 413)]
)
def test_a_body_without_a_bound_is_not_read(site: Site, announced: bytes, status: int) -> None:
    head = b"POST /api/v1/tasks HTTP/1.1\r\n" + CLOSE + b"Content-Type: application/json\r\n" + announced
    reply = parsed(exchange(site, head + b"\r\n\r\n" + b"5\r\nhello\r\n"))
    assert (reply.status, json.loads(reply.body)["code"] in {"LENGTH_REQUIRED", "PAYLOAD_TOO_LARGE"}) == (status, True)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/api/v1/tasks", 200),
        ("/api/v1/nothing", 404),
        ("/nothing", 404),
        ("/api/docs/", 200),
        ("/api/schema/", 200),
        ("/health", 200),
        ("/metrics", 200),
        ("/static/favicon.svg", 200),
    ],
)
def test_every_answer_limits_what_it_can_be_used_for(site: Site, path: str, status: int) -> None:
    reply = get(site, path)
    assert reply.status == status
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert "unsafe" not in reply.headers["content-security-policy"]
    assert "camera=()" in reply.headers["permissions-policy"]
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cross-origin-opener-policy"] == "same-origin"
    assert reply.headers["referrer-policy"] == "same-origin"
    assert "server" not in reply.headers
    assert "strict-transport-security" not in reply.headers


@pytest.mark.parametrize("path", ["/", "/api/v1/tasks", "/events", "/api/v1/events"])
def test_a_foreign_name_is_refused(site: Site, path: str) -> None:
    raw = exchange(site, f"GET {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n".encode())
    assert parsed(raw).status == 400


def pause(site: Site, queue: str, *headers: str) -> None:
    """Do something that the audit keeps."""
    lines = "".join(f"{header}\r\n" for header in headers).encode()
    request = f"POST /api/v1/queues/{queue}/pause HTTP/1.1\r\n".encode() + CLOSE + lines + b"Content-Length: 0\r\n\r\n"
    assert parsed(exchange(site, request)).status == 200


def submit_to(site: Site, queue: str) -> None:
    body = json.dumps({"task_type": "echo", "queue": queue}).encode()
    head = b"POST /api/v1/tasks HTTP/1.1\r\n" + CLOSE + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    assert parsed(exchange(site, head % len(body) + body)).status == 202


def test_a_forged_address_is_not_believed(
    site: Site, make_site: Callable[..., Site], redis_client: redis.Redis, queries: Queries
) -> None:
    forged = ("X-Forwarded-For: 192.0.2.7", "X-Real-IP: 192.0.2.7", "Forwarded: for=192.0.2.7", "X_Forwarded_For: a")
    submit_to(site, "plain")
    pause(site, "plain", *forged)
    behind = make_site(django_trusted_proxies="127.0.0.0/8")
    pause(behind, "plain", *forged)
    assert [entry.source for entry in queries.audit(limit=5).items] == ["192.0.2.7", "127.0.0.1"]


@pytest.mark.parametrize(
    ("origin", "status"),
    [("http://evil.example", 403), ("null", 403), ("http://localhost.evil.example", 403), ("http://localhost", 200)],
)
def test_a_page_of_another_site_cannot_act(site: Site, redis_client: redis.Redis, origin: str, status: int) -> None:
    submit_to(site, "plain")
    request = b"POST /api/v1/queues/plain/pause HTTP/1.1\r\n" + CLOSE + b"Content-Length: 0\r\n"
    reply = parsed(exchange(site, request + f"Origin: {origin}\r\n\r\n".encode()))
    assert reply.status == status
    if status == 403:
        assert json.loads(reply.body)["code"] == "FORBIDDEN"


def test_behind_tls_cookies_and_browsers_stay_there(make_site: Callable[..., Site], redis_client: redis.Redis) -> None:
    site = make_site(django_behind_https="true", api_key="k3y-0123456789")
    plain = get(site, "/login/")
    assert (plain.status, plain.headers["location"]) == (301, "https://localhost/login/")
    assert get(site, "/health").status == 200
    secure = get(site, "/login/", "X-Forwarded-Proto: https")
    assert secure.status == 200
    assert int(secure.headers["strict-transport-security"].partition("max-age=")[2]) > 86_400
    cookie = secure.headers["set-cookie"]
    assert all(part in cookie for part in ("Secure", "HttpOnly", "SameSite=Lax"))


def test_tls_is_not_believed_from_a_stranger(make_site: Callable[..., Site], redis_client: redis.Redis) -> None:
    site = make_site(django_behind_https="true", django_trusted_proxies="192.0.2.1", api_key="k3y-0123456789")
    assert get(site, "/login/", "X-Forwarded-Proto: https").status == 301
