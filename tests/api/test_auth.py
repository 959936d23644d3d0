"""With a key set, everything under /api/v1 asks for it."""

from __future__ import annotations

import pytest
from django.urls import get_resolver

from tasks_app.api.urls import urlpatterns
from tests.api.client import Api
from tests.api.conftest import Configure

KEY = "correct horse battery staple"
PATHS = [
    "tasks",
    "tasks/bulk",
    "tasks/" + "0" * 32,
    "tasks/x/cancel",
    "dlq",
    "queues",
    "queues/default/pause",
    "workers",
    "audit",
    "nothing",
    "",
]


@pytest.fixture
def locked(wired: Configure) -> Api:
    """The API of a server with a key."""
    wired(api_key=KEY)
    return Api()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "OPTIONS"])
def test_nothing_is_told_without_the_key(locked: Api, path: str, method: str) -> None:
    answer = locked.call(method, path)
    assert (answer.status, answer.code) == (401, "UNAUTHENTICATED")
    assert answer.headers["WWW-Authenticate"] == 'ApiKey realm="dtq"'


def test_every_url_of_the_api_is_behind_the_key(locked: Api) -> None:
    assert any(str(entry.pattern) == "api/v1/" for entry in get_resolver().url_patterns)
    for entry in urlpatterns:
        path = str(entry.pattern).replace("<str:id>", "0" * 32).replace("<str:name>", "default")
        for method in ("GET", "POST"):
            assert locked.call(method, path).status == 401


@pytest.mark.parametrize("key", ["", "wrong", KEY[:-1], KEY + "x", KEY.upper(), "ü", "漢🙂", "\xff"])
def test_another_key_is_wrong(locked: Api, key: str) -> None:
    answer = locked.call("GET", "tasks", x_api_key=key)
    assert (answer.status, answer.code) == (401, "UNAUTHENTICATED")


def test_the_key_opens(locked: Api) -> None:
    assert locked.get("tasks", x_api_key=KEY).status == 200
    assert locked.post("tasks", {"task_type": "echo"}, x_api_key=KEY).status == 202
    assert locked.get("nothing", x_api_key=KEY).status == 404


def test_the_key_counts_in_its_header_only(locked: Api) -> None:
    assert locked.call("GET", f"tasks?api_key={KEY}").status == 401
    assert locked.call("GET", "tasks", authorization=f"Bearer {KEY}").status == 401
    assert locked.call("GET", "tasks", cookie=f"X-API-Key={KEY}").status == 401


def test_a_body_is_not_read_before_the_key(locked: Api) -> None:
    assert locked.send("tasks", b"[" * 100_000).status == 401


def test_open_mode_asks_nobody(api: Api) -> None:
    assert api.get("tasks", x_api_key="whatever").status == 200


def test_health_needs_no_key(locked: Api) -> None:
    assert locked.call("GET", "/health").status == 200
