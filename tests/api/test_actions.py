"""What can be done to one task, and what each refusal says."""

from __future__ import annotations

from typing import Any

import pytest

from tasks_app.domain.status import TaskStatus
from tests.api.client import Answer, Api
from tests.api.hand import Hand

UNKNOWN = "0" * 32


def refused(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.code


@pytest.mark.parametrize("fields", [{}, {"delay_seconds": 60}])
def test_a_waiting_task_is_cancelled_at_once(api: Api, fields: dict[str, Any]) -> None:
    task_id = api.submit(**fields)
    answer = api.post(f"tasks/{task_id}/cancel")
    assert (answer.status, answer.body["id"], answer.body["status"]) == (202, task_id, "cancelled")
    assert refused(api.post(f"tasks/{task_id}/cancel")) == (410, "TASK_FINISHED")


def test_a_retrying_task_is_cancelled_at_once(api: Api, hand: Hand) -> None:
    task_id = api.submit()
    hand.fail(TaskStatus.RETRYING, delay_ms=60_000)
    assert api.post(f"tasks/{task_id}/cancel").body["status"] == "cancelled"


def test_a_running_task_is_asked_to_stop(api: Api, hand: Hand) -> None:
    task_id = api.submit()
    hand.claim()
    assert refused(api.post(f"tasks/{task_id}/cancel")) == (409, "CANCEL_REQUESTED")
    shown = api.get(f"tasks/{task_id}").body
    assert (shown["status"], shown["cancel_requested"]) == ("running", True)


@pytest.mark.parametrize("action", ["tasks/{}/cancel", "tasks/{}/requeue", "tasks/{}/run-now", "dlq/{}/discard"])
def test_an_unknown_task_is_not_found(api: Api, action: str) -> None:
    assert refused(api.post(action.format(UNKNOWN))) == (404, "NOT_FOUND")


@pytest.mark.parametrize("path", ["tasks/{}/requeue", "dlq/{}/requeue"])
@pytest.mark.parametrize("ending", [TaskStatus.DEAD_LETTERED, TaskStatus.FAILED])
def test_requeue_gives_a_fresh_start(api: Api, hand: Hand, path: str, ending: TaskStatus) -> None:
    task_id = api.submit(metadata={"who": "me"})
    hand.fail(ending)
    answer = api.post(path.format(task_id))
    assert (answer.status, answer.body["status"], answer.body["attempt"]) == (202, "queued", 1)
    assert (answer.body["requeues"], answer.body["metadata"]) == (1, {"who": "me", "previous_attempts": [1]})


def test_a_live_task_cannot_be_requeued(api: Api, hand: Hand) -> None:
    task_id = api.submit()
    hand.claim()
    answer = api.post(f"tasks/{task_id}/requeue")
    assert refused(answer) == (409, "WRONG_STATUS")
    assert answer.body["details"]["status"] == "running"
    assert set(answer.body["details"]["allowed"]) == {"dead_lettered", "failed"}


def test_a_dead_task_whose_key_moved_on_cannot_be_requeued(api: Api, hand: Hand, redis_client: object) -> None:
    task_id = api.submit(idempotency_key="k")
    hand.fail()
    redis_client.delete("dtq:idempotency:default:k")  # type: ignore[attr-defined]  # its time is up
    newer = api.submit(idempotency_key="k")
    answer = api.post(f"tasks/{task_id}/requeue")
    assert refused(answer) == (409, "IDEMPOTENCY_CONFLICT")
    assert newer in answer.text


def test_run_now_sends_a_delayed_task_off(api: Api, hand: Hand) -> None:
    task_id = api.submit(delay_seconds=3600)
    answer = api.post(f"tasks/{task_id}/run-now")
    assert (answer.status, answer.body["status"]) == (202, "queued")
    assert hand.succeed() == [task_id]
    assert refused(api.post(f"tasks/{task_id}/run-now")) == (409, "WRONG_STATUS")


def test_discard_removes_a_dead_task(api: Api, hand: Hand) -> None:
    task_id = api.submit()
    assert refused(api.post(f"dlq/{task_id}/discard")) == (409, "WRONG_STATUS")
    hand.fail()
    answer = api.post(f"dlq/{task_id}/discard")
    assert (answer.status, answer.body) == (200, {"id": task_id, "discarded": True})
    assert api.get(f"tasks/{task_id}").status == 404
    assert api.get("dlq").body["items"] == []


def test_actions_take_an_empty_object_and_nothing_else(api: Api) -> None:
    task_id = api.submit()
    assert api.post(f"tasks/{task_id}/cancel", {"force": True}).fields == {"force": ["is not a field of this request"]}
    assert api.post(f"tasks/{task_id}/cancel", []).status == 400
    assert api.post(f"tasks/{task_id}/cancel", {}).status == 202


def test_every_action_is_audited_with_who_and_which_request(api: Api) -> None:
    task_id = api.submit()
    api.post(f"tasks/{task_id}/cancel", x_request_id="req-77")
    entry = api.get("audit").body["items"][0]
    assert (entry["actor"], entry["action"], entry["task_id"]) == ("api", "cancel", task_id)
    assert (entry["source"], entry["request_id"]) == ("127.0.0.1", "req-77")
    assert api.get("audit", {"task_id": task_id}).body["items"] == [entry]
    assert api.get("audit", {"task_id": UNKNOWN}).body["items"] == []
