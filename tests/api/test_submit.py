"""Every row of the contract's table for submissions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api.client import Api
from tests.api.conftest import Configure
from tests.api.hand import Hand

KEYED = {"task_type": "echo", "payload": {"n": 1}, "idempotency_key": "order-1"}


def test_a_new_task_is_answered_with_itself_and_its_place(api: Api) -> None:
    answer = api.post("tasks", {"task_type": "echo", "payload": {"n": 1}, "metadata": {"ttl_seconds": 60}})
    assert answer.status == 202
    assert answer.headers["Location"] == f"/api/v1/tasks/{answer.body['id']}"
    assert answer.body["status"] == "queued"
    assert answer.body["duplicate"] is False
    shown = api.call("GET", answer.headers["Location"]).body
    assert {name: shown[name] for name in answer.body if name != "duplicate"} == {
        name: value for name, value in answer.body.items() if name != "duplicate"
    }


def test_a_delayed_task_is_pending_until_its_time(api: Api) -> None:
    body = api.post("tasks", {"task_type": "echo", "delay_seconds": 60}).body
    assert body["status"] == "pending"
    assert body["enqueued_at"] is None
    assert body["due_at"] > body["created_at"]


@pytest.mark.parametrize("moment", ["2020-01-01T00:00:00Z", "1969-12-31T23:00:00Z", "0001-01-01T00:00:00Z"])
def test_a_past_moment_means_now(api: Api, moment: str) -> None:
    assert api.post("tasks", {"task_type": "echo", "run_at": moment}).body["status"] == "queued"


def test_the_last_moment_that_has_a_text_is_kept(api: Api) -> None:
    body = api.post("tasks", {"task_type": "echo", "run_at": "9999-12-31T23:59:59.999+00:00"}).body
    assert (body["status"], body["due_at"]) == ("pending", "9999-12-31T23:59:59.999Z")


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59.999-00:01", "2030-01-01", "2030-01-01T00:00:00", 1e18, ""])
def test_other_moments_are_refused(api: Api, moment: Any) -> None:
    answer = api.post("tasks", {"task_type": "echo", "run_at": moment})
    assert (answer.status, list(answer.fields)) == (400, ["run_at"])
    assert api.get("tasks").ids == []


def test_a_handlers_declaration_fills_the_gaps(api: Api) -> None:
    body = api.post("tasks", {"task_type": "payment.capture"}).body
    assert (body["queue"], body["priority"], body["max_attempts"], body["timeout_ms"]) == ("payments", 8, 3, 15_000)


def test_a_key_whose_task_lives_is_in_progress(api: Api) -> None:
    first = api.post("tasks", KEYED)
    again = api.post("tasks", KEYED)
    assert (again.status, again.code) == (409, "IDEMPOTENCY_IN_PROGRESS")
    assert again.body["details"]["task_id"] == first.body["id"]


def test_a_key_whose_task_has_ended_answers_with_that_task(api: Api, hand: Hand) -> None:
    first = api.post("tasks", KEYED)
    hand.succeed('{"n":1}')
    again = api.post("tasks", KEYED)
    assert (again.status, again.body["duplicate"], again.body["id"]) == (200, True, first.body["id"])
    assert (again.body["status"], again.body["result"]) == ("succeeded", {"n": 1})
    assert again.headers["Location"] == first.headers["Location"]


@pytest.mark.parametrize("ending", ["cancelled", "dead_lettered"])
def test_a_key_outlives_other_endings_the_same_way(api: Api, hand: Hand, ending: str) -> None:
    task_id = api.post("tasks", KEYED).body["id"]
    if ending == "cancelled":
        api.post(f"tasks/{task_id}/cancel")
    else:
        hand.fail()
    again = api.post("tasks", KEYED)
    assert (again.status, again.body["id"], again.body["status"]) == (200, task_id, ending)


def test_a_requeued_task_holds_its_key_again(api: Api, hand: Hand) -> None:
    task_id = api.post("tasks", KEYED).body["id"]
    hand.fail()
    assert api.post(f"tasks/{task_id}/requeue").status == 202
    assert api.post("tasks", KEYED).code == "IDEMPOTENCY_IN_PROGRESS"


@pytest.mark.parametrize("change", [{"payload": {"n": 2}}, {"task_type": "noop"}])
def test_a_key_with_another_task_is_a_mismatch(api: Api, change: dict[str, Any]) -> None:
    first = api.post("tasks", KEYED)
    answer = api.post("tasks", KEYED | change)
    assert (answer.status, answer.code) == (422, "IDEMPOTENCY_MISMATCH")
    assert answer.body["details"]["task_id"] == first.body["id"]


def test_the_header_wins_over_the_body(api: Api) -> None:
    assert api.post("tasks", KEYED, idempotency_key="from-header").body["idempotency_key"] == "from-header"


@pytest.mark.parametrize("key", ["", "ü", "a" * 256])
def test_a_bad_key_in_the_header_is_named(api: Api, key: str) -> None:
    answer = api.post("tasks", {"task_type": "echo"}, idempotency_key=key)
    assert (answer.status, list(answer.fields)) == (400, ["idempotency_key"])


def test_every_bad_field_is_named_at_once(api: Api) -> None:
    answer = api.post(
        "tasks",
        {
            "task_type": 7,
            "payload": [],
            "queue": "A b",
            "priority": "5",
            "max_attempts": True,
            "timeout_ms": 1.5,
            "delay_seconds": -1,
            "run_at": "soon",
            "idempotency_key": "ü",
            "metadata": "x",
            "colour": "red",
        },
    )
    assert (answer.status, answer.code) == (400, "VALIDATION_ERROR")
    assert set(answer.fields) == {
        "task_type",
        "payload",
        "queue",
        "priority",
        "max_attempts",
        "timeout_ms",
        "delay_seconds",
        "run_at",
        "idempotency_key",
        "metadata",
        "colour",
    }


def test_a_large_payload_is_too_large(api: Api) -> None:
    answer = api.post("tasks", {"task_type": "echo", "payload": {"a": "x" * 262_144}})
    assert (answer.status, answer.code) == (413, "PAYLOAD_TOO_LARGE")
    assert answer.body["details"]["limit_bytes"] == 262_144


def test_a_payload_at_the_limit_fits_however_it_is_escaped(api: Api) -> None:
    payload = {"a": "\x01" * ((262_144 - len('{"a":""}')) // 6)}
    raw = json.dumps({"task_type": "echo", "payload": payload}).encode()
    assert api.send("tasks", raw).body["payload"] == payload


def test_a_full_queue_refuses_and_says_when_to_come_again(api: Api, wired: Configure) -> None:
    wired(max_queue_depth=2)
    api.submit()
    api.submit(delay_seconds=60)
    answer = api.post("tasks", {"task_type": "echo"})
    assert (answer.status, answer.code) == (429, "QUEUE_FULL")
    assert int(answer.headers["Retry-After"]) > 0
    assert api.submit(queue="other")


def test_one_queue_name_too_many_is_refused(api: Api, wired: Configure) -> None:
    wired(max_queues=1)
    api.submit()
    answer = api.post("tasks", {"task_type": "echo", "queue": "second"})
    assert (answer.status, list(answer.fields)) == (400, ["queue"])
