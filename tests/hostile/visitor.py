"""Somebody who asks the real site over the wire and keeps what came back."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from email.message import Message
from http.cookiejar import CookieJar
from typing import Any, NamedTuple

_CSRF = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Page(NamedTuple):
    status: int
    headers: Message
    text: str


class Visitor:
    """``seen`` has everything that it was answered, headers included."""

    def __init__(self, origin: str, **headers: str) -> None:
        self._origin = origin
        self._headers = headers
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self.seen: list[tuple[str, Page]] = []

    def get(self, path: str, **headers: str) -> Page:
        return self._ask("GET", path, None, headers)

    def post(self, path: str, body: bytes, **headers: str) -> Page:
        return self._ask("POST", path, body, headers)

    def submit(self, task: dict[str, Any], **headers: str) -> Page:
        """Submit a task to the API."""
        return self.post("/api/v1/tasks", json.dumps(task).encode(), **{"Content-Type": "application/json"} | headers)

    def log_in(self, user: str, password: str) -> None:
        """As a user of the console."""
        found = _CSRF.search(self.get("/login/").text)
        assert found
        form = {"username": user, "password": password, "csrfmiddlewaretoken": found[1]}
        page = self.post("/login/", urllib.parse.urlencode(form).encode(), Referer=f"{self._origin}/login/")
        assert page.status == 200, page.text[:500]
        assert "csrfmiddlewaretoken" not in page.text or "Sign out" in page.text or "logout" in page.text

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Page:
        request = urllib.request.Request(self._origin + path, body, self._headers | headers, method=method)  # noqa: S310 - our own http
        try:
            with self._opener.open(request, timeout=20) as answer:
                page = Page(answer.status, answer.headers, answer.read().decode())
        except urllib.error.HTTPError as refusal:
            with refusal:
                page = Page(refusal.code, refusal.headers, refusal.read().decode())
        self.seen.append((f"{method} {path}", page))
        return page
