"""The API by one key."""

from __future__ import annotations

from typing import Any

from tests.api.client import Answer, Api

ALMIGHTY = "the-key-that-may-everything"
ABSENT = "0" * 32


class Keyed:
    """The API by one key."""

    def __init__(self, secret: str) -> None:
        self.api = Api()
        self.secret = secret

    def get(self, path: str, query: dict[str, Any] | None = None, **headers: str) -> Answer:
        return self.api.get(path, query, x_api_key=self.secret, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self.api.post(path, body, x_api_key=self.secret, **headers)

    def submit(self, queue: str, **fields: Any) -> str:
        answer = self.post("tasks", {"task_type": "echo", "queue": queue, **fields})
        assert answer.status == 202, answer
        task_id: str = answer.body["id"]
        return task_id


def refused(answer: Answer, status: int = 403) -> bool:
    """True for a refusal with that status that says nothing of what is there."""
    return answer.status == status and answer.code in {"FORBIDDEN", "NOT_FOUND"} and "secret" not in answer.text
