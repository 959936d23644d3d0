"""Names that break links elsewhere: found, refused by their rule, or not found; never 500."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.api.client import Api

NAMES = [
    "a/b",
    "a:b",
    "a#b",
    "a?b=1",
    "a b",
    "..",
    ".",
    "%2F",
    "{x}",
    "ü漢🙂",
    "a ",
    "a" * 300,
    "\x00",
    "\n",
    "a\n",
    "A",
    "-a",
]


@pytest.mark.parametrize("name", NAMES)
def test_as_part_of_a_path(api: Api, name: str) -> None:
    for path in ("queues/{}", "tasks/{}", "tasks/{}/result", "workers/{}"):
        answer = api.call("GET", path.format(quote(name, safe="")))
        assert (answer.status, answer.code) == (404, "NOT_FOUND"), path
    for path in (
        "queues/{}/pause",
        "queues/{}/resume",
        "queues/{}/purge",
        "workers/{}/quiet",
        "workers/{}/resume",
        "workers/{}/stop",
        "tasks/{}/cancel",
        "tasks/{}/requeue",
        "tasks/{}/run-now",
        "dlq/{}/requeue",
        "dlq/{}/discard",
    ):
        answer = api.call("POST", path.format(quote(name, safe="")))
        assert (answer.status, answer.code) == (404, "NOT_FOUND"), path


@pytest.mark.parametrize("path", ["queues/%FF", "tasks/%FF", "workers/%FF", "tasks/%C0%80", "%FF"])
def test_a_path_that_is_not_utf_8_is_not_found(api: Api, path: str) -> None:
    assert api.call("GET", path).status == 404


@pytest.mark.parametrize("name", NAMES)
def test_as_a_filter(api: Api, name: str) -> None:
    for parameter in ("queue", "task_type", "worker_id", "q"):
        answer = api.get("tasks", {parameter: name})
        assert answer.status in {200, 400}
        if answer.status == 200:
            assert answer.ids == []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("field", ["queue", "task_type"])
def test_as_a_name_to_be_it_is_refused_with_its_rule(api: Api, field: str, name: str) -> None:
    answer = api.post("tasks", {"task_type": "echo"} | {field: name})
    if (field, name) in {("task_type", "a:b"), ("task_type", "A")}:
        assert answer.status == 202
        assert api.get("tasks", {"task_type": name}).ids == [answer.body["id"]]
    else:
        assert answer.status == 400
        assert "must match" in answer.fields[field][0]


def test_keys_that_look_alike_when_joined_stay_apart(api: Api) -> None:
    tasks: list[dict[str, Any]] = [
        {"task_type": "echo", "queue": "a", "idempotency_key": "b:c"},
        {"task_type": "echo", "queue": "a", "idempotency_key": "c"},
        {"task_type": "echo", "queue": "a-b", "idempotency_key": "c"},
        {"task_type": "echo", "queue": "a", "idempotency_key": "a/b?c#d {e} %2F"},
    ]
    assert all(api.post("tasks", task).status == 202 for task in tasks)
    assert [api.post("tasks", task).status for task in tasks] == [409] * 4
