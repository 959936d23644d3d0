"""Many submissions in one call, each on its own terms."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.client import Api
from tests.api.hand import Hand


def test_each_task_gets_the_answer_it_would_get_alone(api: Api, hand: Hand) -> None:
    keyed = {"task_type": "echo", "idempotency_key": "k"}
    ended = api.post("tasks", keyed).body["id"]
    hand.succeed()
    alive = api.submit(idempotency_key="alive")
    answer = api.post(
        "tasks/bulk",
        {
            "tasks": [
                {"task_type": "echo", "payload": {"n": 1}},
                keyed,
                {"task_type": "echo", "priority": 10},
                {"task_type": "echo", "idempotency_key": "alive"},
                {"task_type": "noop", "idempotency_key": "alive"},
                {"task_type": "echo", "payload": {"a": "x" * 300_000}},
                None,
                {"task_type": "echo", "delay_seconds": 9},
            ]
        },
    )
    assert answer.status == 200
    assert (answer.body["accepted"], answer.body["duplicates"], answer.body["refused"]) == (2, 1, 5)
    items = answer.body["items"]
    assert [item["status"] for item in items] == [202, 200, 400, 409, 422, 413, 400, 202]
    assert items[1]["task"]["id"] == ended
    assert items[3]["error"]["details"] == {"task_id": alive}
    assert items[2]["error"]["details"]["fields"] == {"priority": ["must be a whole number 0..9"]}
    for item in items:
        assert (item["task"] is None) == (item["error"] is not None)
    assert api.get(f"tasks/{items[0]['task']['id']}").body["payload"] == {"n": 1}
    assert items[7]["task"]["status"] == "pending"


def test_a_thousand_tasks_fit_and_keep_their_order(api: Api) -> None:
    tasks = [{"task_type": "echo", "payload": {"n": n}} for n in range(1000)]
    items = api.post("tasks/bulk", {"tasks": tasks}).body["items"]
    ids = [item["task"]["id"] for item in items]
    assert ids == sorted(ids)
    assert api.get(f"tasks/{ids[617]}").body["payload"] == {"n": 617}


@pytest.mark.parametrize(
    "body",
    [{}, {"tasks": []}, {"tasks": {}}, {"tasks": [{"task_type": "noop"}] * 1001}, {"tasks": None}],
)
def test_a_list_of_a_wrong_size_is_refused_as_a_whole(api: Api, body: Any) -> None:
    answer = api.post("tasks/bulk", body)
    assert (answer.status, list(answer.fields)) == (400, ["tasks"])
    assert api.get("tasks").ids == []


def test_a_stray_member_is_named(api: Api) -> None:
    answer = api.post("tasks/bulk", {"tasks": [{"task_type": "noop"}], "queue": "x"})
    assert (answer.status, list(answer.fields)) == (400, ["queue"])


def test_one_key_in_the_header_cannot_be_for_many(api: Api) -> None:
    answer = api.post("tasks/bulk", {"tasks": [{"task_type": "noop"}]}, idempotency_key="k")
    assert (answer.status, list(answer.fields)) == (400, ["Idempotency-Key"])


def test_the_same_key_twice_in_one_call_makes_one_task(api: Api) -> None:
    task = {"task_type": "echo", "idempotency_key": "k"}
    items = api.post("tasks/bulk", {"tasks": [task, task]}).body["items"]
    assert [item["status"] for item in items] == [202, 409]
