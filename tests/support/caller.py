"""A client of a site behind TLS: from an address of its choice, with cookies, following nothing by itself."""

from __future__ import annotations

import http.client
import ssl
import urllib.parse
from email.message import Message
from http.cookies import SimpleCookie
from pathlib import Path
from typing import NamedTuple

TIMEOUT_S = 20


class Answer(NamedTuple):
    status: int
    headers: Message
    text: str


class Caller:
    """Speaks to 127.0.0.1 from ``address``, another one of the loopback network."""

    def __init__(self, port: int, authority: Path, address: str = "127.0.0.2") -> None:
        self.origin = f"https://127.0.0.1:{port}"
        self.cookies: SimpleCookie = SimpleCookie()
        self._port = port
        self._address = address
        self._tls = ssl.create_default_context(cafile=authority)

    def open(self, method: str, path: str, body: bytes | None = None, /, **headers: str) -> http.client.HTTPResponse:
        """Send a request; the answer with its body still to be read, which the caller closes."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, timeout=TIMEOUT_S, source_address=(self._address, 0), context=self._tls
        )
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={morsel.value}" for name, morsel in self.cookies.items())
        connection.request(method, path, body, headers | {"Connection": "close"})
        answer = connection.getresponse()
        for value in answer.headers.get_all("Set-Cookie", []):
            self.cookies.load(value)
        return answer

    def ask(self, method: str, path: str, body: bytes | None = None, /, **headers: str) -> Answer:
        """Send a request and read all of its answer."""
        with self.open(method, path, body, **headers) as answer:
            return Answer(answer.status, answer.headers, answer.read().decode(errors="replace"))

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def send_form(self, path: str, fields: dict[str, str], **headers: str) -> Answer:
        """As a browser sends a form of a page of the same site."""
        headers = {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded"} | headers
        return self.ask("POST", path, urllib.parse.urlencode(fields).encode(), **headers)
