"""The API as its clients see it: paths below ``/api/v1``, JSON in, JSON out."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from django.test import Client

from tests.api.document import PREFIX, document


class Answer:
    """A response. ``body`` is its decoded JSON, ``text`` the JSON as it came."""

    def __init__(self, response: Any) -> None:
        self.status = response.status_code
        self.headers = response.headers
        self.text = response.content.decode()
        assert response.headers["Content-Type"] == "application/json", self.text[:200]
        self.body: Any = json.loads(self.text)

    @property
    def code(self) -> str:
        """The code of a refusal."""
        code: str = self.body["code"]
        return code

    @property
    def fields(self) -> dict[str, list[str]]:
        """What a 400 says about each field."""
        fields: dict[str, list[str]] = self.body["details"]["fields"]
        return fields

    @property
    def ids(self) -> list[str]:
        """The ids on a page."""
        return [item["id"] for item in self.body["items"]]

    def __repr__(self) -> str:
        return f"{self.status} {self.text[:500]}"


class Api:
    """``api.get("tasks")``, ``api.post("tasks", {...})``; keyword arguments are headers (``x_api_key=...``).

    Each answer is held against the OpenAPI document.
    """

    root = "/api/v1/"

    def __init__(self) -> None:
        self._client = Client()

    def get(self, path: str, query: dict[str, Any] | None = None, **headers: str) -> Answer:
        return self.call("GET", f"{path}?{urlencode(query)}" if query else path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        if body is None:
            return self.call("POST", path, **headers)
        return self.send(path, json.dumps(body).encode(), **headers)

    def send(self, path: str, raw: bytes, content_type: str = "application/json", **headers: str) -> Answer:
        """Post bytes as they are."""
        return self._judged("POST", self.root + path, raw, content_type, headers)

    def call(self, method: str, path: str, **headers: str) -> Answer:
        """Any method, no body. ``path`` counts from the site's root when it starts with a slash."""
        return self._judged(method, path if path.startswith("/") else self.root + path, b"", "", headers)

    def submit(self, task_type: str = "echo", **fields: Any) -> str:
        """Submit a task; its id."""
        answer = self.post("tasks", {"task_type": task_type, **fields})
        assert answer.status == 202, answer
        task_id: str = answer.body["id"]
        return task_id

    def raw(self, method: str, url: str, body: bytes = b"", content_type: str = "", **headers: str) -> Any:
        """Django's own response."""
        renamed = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._client.generic(method, url, body, content_type=content_type, headers=renamed)

    def _judged(self, method: str, url: str, body: bytes, content_type: str, headers: dict[str, str]) -> Answer:
        answer = Answer(self.raw(method, url, body, content_type, **headers))
        if url.startswith(PREFIX):
            assert document().judge(method, url, answer.status, answer.body) == [], (method, url, answer)
        return answer
