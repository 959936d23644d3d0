"""What Django and DRF refuse by themselves comes out in the API's own shape."""

from __future__ import annotations

import re

import pytest

from tasks_app import runtime
from tests.api.client import Api

GENERATED = re.compile(r"[0-9a-f]{32}")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"])
def test_another_method_is_told_which_ones_there_are(api: Api, method: str) -> None:
    answer = api.call(method, "tasks")
    assert (answer.status, answer.code) == (405, "METHOD_NOT_ALLOWED")
    assert answer.headers["Allow"] == "GET, HEAD, POST"
    assert api.call(method, "tasks/bulk").headers["Allow"] == "POST"


def test_an_action_without_its_id_is_not_found(api: Api) -> None:
    for action in ("cancel", "requeue", "run-now"):
        answer = api.post(f"tasks/{action}")
        assert (answer.status, answer.code) == (404, "NOT_FOUND")
    assert api.post(f"tasks/{api.submit()}").status == 405


@pytest.mark.parametrize("path", ["nothing", "", "tasks/", "tasks/a/b/c", "/api/", "/api/v2/tasks", "/api/nothing"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_an_unknown_url_is_not_found(api: Api, path: str, method: str) -> None:
    answer = api.call(method, path)
    assert (answer.status, answer.code) == (404, "NOT_FOUND")


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/*;q=0.5", "nonsense"])
def test_who_takes_no_json_is_told_so_in_json(api: Api, accept: str) -> None:
    answer = api.call("GET", "tasks", accept=accept)
    assert (answer.status, answer.code) == (406, "NOT_ACCEPTABLE")


@pytest.mark.parametrize(
    "accept",
    [
        "*/*",
        "application/json",
        "application/*",
        "text/html,application/xml;q=0.9,*/*;q=0.8",
        "application/json; q=0.5",
    ],
)
def test_who_takes_json_gets_it(api: Api, accept: str) -> None:
    assert api.call("GET", "tasks", accept=accept).status == 200


def test_an_unknown_host_is_refused_in_json(api: Api) -> None:
    answer = api.call("GET", "tasks", host="evil.example")
    assert (answer.status, answer.code) == (400, "BAD_REQUEST")
    assert "evil" not in answer.text


def test_the_unforeseen_is_logged_and_tells_nothing(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def explode() -> None:
        raise RuntimeError("hunter2")

    monkeypatch.setattr(runtime, "queries", explode)
    answer = api.get("tasks", x_request_id="find-me")
    assert (answer.status, answer.code) == (500, "INTERNAL_ERROR")
    assert set(answer.body) == {"code", "message", "request_id"}
    assert "hunter2" not in answer.text
    assert "RuntimeError('hunter2')" in caplog.text
    assert "find-me" in caplog.text


@pytest.mark.parametrize("sane", ["a", "A-1_b.c", "x" * 128])
def test_a_sane_request_id_is_kept(api: Api, sane: str) -> None:
    answer = api.get("nothing", x_request_id=sane)
    assert answer.headers["X-Request-ID"] == answer.body["request_id"] == sane


@pytest.mark.parametrize("odd", ["", "x" * 129, "a b", "a\tb", "<script>", "ü", "a/b", "a;b"])
def test_an_odd_request_id_is_replaced(api: Api, odd: str) -> None:
    answer = api.get("nothing", x_request_id=odd)
    assert GENERATED.fullmatch(answer.body["request_id"])
    assert answer.headers["X-Request-ID"] == answer.body["request_id"]


def test_every_answer_has_a_request_id_of_its_own(api: Api) -> None:
    assert api.get("tasks").headers["X-Request-ID"] != api.get("tasks").headers["X-Request-ID"]


def test_head_answers_like_get_without_a_body(api: Api) -> None:
    api.submit()
    response = api.raw("HEAD", "/api/v1/tasks?limit=1")
    assert (response.status_code, response.content) == (200, b"")
