"""Everybody who may ask: people with a session, programs with a key, and those with neither."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client

from dtq_site.streams import ASYNC_APPS
from tasks_app import runtime
from tasks_app.console.people import People
from tasks_app.domain.api_key import parse_grant
from tasks_app.domain.roles import Role
from tests.console.people import Deaf
from tests.support.builders import ACTOR

ALMIGHTY = "the-key-that-may-everything"


_browser = Client(raise_request_exception=False)


@dataclass(frozen=True)
class Heard:
    """An answer: what it comes to, and its text."""

    word: str
    text: str
    headers: Mapping[str, str]


@dataclass
class Caller:
    """Whoever asks. ``column`` is where the tables say what they get, for people's pages and for the API."""

    name: str
    person: str = "anonymous"
    program: str = "no key"
    headers: dict[str, str] = field(default_factory=dict)
    user: User | None = None
    query: str = ""
    session: str = ""

    def ask(self, method: str, url: str, body: bytes = b"") -> Heard:
        """One request, by a browser or program that remembers nothing of the one before."""
        if self.user and (not self.session or url == "/logout/"):
            self.session = _session(self.user)
        cookie = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={self.session}"} if self.session else {}
        headers = self.headers | cookie
        if url in ASYNC_APPS:
            return asyncio.run(_opened(method, url, headers))
        _browser.cookies.clear()
        kind = "application/json" if body else ""
        response = _browser.generic(method, url + self.query, body, content_type=kind, headers=headers)
        return Heard(_word(url, response.status_code, response.headers), response.content.decode(), response.headers)


def people() -> list[Caller]:
    """A user of each role, one without a role, and nobody."""
    staff = [Caller(role.value, role.value, user=_user(role)) for role in Role]
    stranger = Caller("a user without a role", "no role", user=User.objects.create(username="stranger", password="!"))
    return [Caller("nobody"), stranger, *staff]


def strangers() -> list[Caller]:
    """Who has no key that is good for anything."""
    keys = runtime.api_keys()
    revoked = keys.grant(parse_grant("revoked", ["read", "submit", "operate"]), ACTOR)
    keys.revoke("revoked", ACTOR)
    expired = keys.grant(parse_grant("expired", ["read", "submit", "operate"], lasts="1m"), ACTOR)
    runtime.client().hset("dtq:api-key:expired", "expires_at", 1)
    sent = {
        "no key": None,
        "an empty key": "",
        "a wrong key": "wrong",
        "a key in the form of one": "dtq_reader_" + "a" * 32,
        "a key beyond ASCII": "schlüssel-漢",
        "a revoked key": revoked,
        "an expired key": expired,
    }
    return [Caller(name, headers={} if key is None else {"X-API-Key": key}) for name, key in sent.items()]


def misplaced(reader: str) -> list[Caller]:
    """Who shows something good in the wrong place."""
    return [
        Caller("an admin's session", person="admin", user=_user(Role.ADMIN, "second")),
        Caller("a key in the address", query=f"?api_key={ALMIGHTY}&X-API-Key={reader}"),
        Caller("a key as a bearer token", headers={"Authorization": f"Bearer {ALMIGHTY}"}),
    ]


def programs() -> list[Caller]:
    """A key of each scope, and the almighty one."""
    keys = [
        Caller(f"a key to {scope}", program=scope, headers={"X-API-Key": _key(scope, [scope])})
        for scope in ("read", "submit", "operate")
    ]
    return [*keys, Caller("the almighty key", program="all", headers={"X-API-Key": ALMIGHTY})]


def partial(glob: str) -> Caller:
    """A key with every scope, for some queues."""
    secret = _key("partial", ["read", "submit", "operate"], [glob])
    return Caller("a key for some queues", program="for some queues", headers={"X-API-Key": secret})


def _key(name: str, scopes: list[str], queues: list[str] | None = None) -> str:
    return runtime.api_keys().grant(parse_grant(name, scopes, queues or []), ACTOR)


def _user(role: Role, name: str = "") -> User:
    user = User(username=name or role.value, password="!")
    user.save()
    People(Deaf(), ACTOR).set_role(user, role)
    return user


def _session(user: User) -> str:
    store = SessionStore()
    store[SESSION_KEY] = str(user.pk)
    store[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    store[HASH_SESSION_KEY] = user.get_session_auth_hash()
    store.create()
    return str(store.session_key)


def _word(url: str, status: int, headers: Mapping[str, str]) -> str:
    """``yes`` for whatever a request with the right to be made is answered, be it that it makes no sense."""
    if status in {301, 302, 303} and headers.get("Location", "").startswith("/login/?") and url != "/logout/":
        return "login"
    return str(status) if status in {401, 403, 404, 405, 429} or status >= 500 else "yes"


async def _opened(method: str, url: str, headers: dict[str, str]) -> Heard:
    """How a stream begins; whoever opened it then leaves."""
    scope = {
        "type": "http",
        "method": method,
        "path": url,
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
    }
    said: list[dict[str, Any]] = []
    begun = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await begun.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        said.append(message)
        begun.set()

    await ASYNC_APPS[url](scope, receive, send)
    text = b"".join(message.get("body", b"") for message in said).decode()
    named = {name.decode(): value.decode() for name, value in said[0]["headers"]}
    return Heard(_word(url, said[0]["status"], named), text, named)
