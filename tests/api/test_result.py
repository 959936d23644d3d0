"""Waiting for a task's end over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tasks_app.api import waiting
from tasks_app.domain.status import TaskStatus
from tests.api.client import Answer, Api
from tests.api.hand import Hand
from tests.support.until import until


@pytest.fixture
def every_slot_taken() -> Iterator[None]:
    """As many requests wait as may."""
    for _ in range(waiting.MAX_WAITERS):
        assert waiting._slots.acquire(blocking=False)
    yield
    for _ in range(waiting.MAX_WAITERS):
        waiting._slots.release()


def test_an_ended_task_answers_at_once(api: Api, hand: Hand) -> None:
    task_id = api.submit()
    hand.succeed('{"n":1}')
    answer = api.get(f"tasks/{task_id}/result", {"wait": "30"})
    assert (answer.status, answer.body) == (
        200,
        {"id": task_id, "status": "succeeded", "finished": True, "error": None, "result": {"n": 1}},
    )


def test_a_failed_task_is_an_end_too(api: Api, hand: Hand) -> None:
    task_id = api.submit()
    hand.fail(message="no luck")
    body = api.get(f"tasks/{task_id}/result").body
    assert (body["status"], body["finished"], body["result"]) == ("dead_lettered", True, None)
    assert body["error"] == {"class": "ValueError", "message": "no luck", "traceback": "Traceback: ..."}


@pytest.mark.parametrize("query", [{}, {"wait": "0"}, {"wait": "0.05"}])
def test_an_unfinished_task_is_accepted_so_far(api: Api, query: dict[str, str]) -> None:
    task_id = api.submit()
    answer = api.get(f"tasks/{task_id}/result", query)
    assert (answer.status, answer.body["status"], answer.body["finished"]) == (202, "queued", False)
    assert answer.headers["Retry-After"] == "1"


def test_a_retrying_task_has_not_ended(api: Api, hand: Hand) -> None:
    task_id = api.submit()
    hand.fail(TaskStatus.RETRYING, delay_ms=60_000)
    answer = api.get(f"tasks/{task_id}/result")
    assert (answer.status, answer.body["status"]) == (202, "retrying")


def test_a_waiter_hears_of_the_end(api: Api, hand: Hand) -> None:
    task_id = api.submit()
    answers: list[Answer] = []
    waiter = threading.Thread(target=lambda: answers.append(Api().get(f"tasks/{task_id}/result", {"wait": "20"})))
    waiter.start()
    until(lambda: waiting._slots._value < waiting.MAX_WAITERS, what="a waiter")
    hand.succeed('"done"')
    waiter.join(timeout=10)
    assert [(answer.status, answer.body["result"]) for answer in answers] == [(200, "done")]
    assert waiting._slots._value == waiting.MAX_WAITERS


@pytest.mark.usefixtures("every_slot_taken")
def test_with_enough_waiters_the_next_does_not_wait(api: Api) -> None:
    task_id = api.submit()
    assert api.get(f"tasks/{task_id}/result", {"wait": "30"}).status == 202


@pytest.mark.usefixtures("every_slot_taken")
def test_with_enough_waiters_an_ended_task_is_still_answered(api: Api, hand: Hand) -> None:
    task_id = api.submit()
    hand.succeed()
    assert api.get(f"tasks/{task_id}/result", {"wait": "30"}).status == 200


@pytest.mark.parametrize("wait", ["-1", "31", "1e1", "x", "", "nan", "inf", "٣", "0x1", "1" * 20])
def test_a_wait_out_of_bounds_is_refused(api: Api, wait: str) -> None:
    task_id = api.submit()
    answer = api.get(f"tasks/{task_id}/result", {"wait": wait})
    assert (answer.status, list(answer.fields)) == (400, ["wait"])


def test_an_unknown_task_is_not_waited_for(api: Api) -> None:
    assert api.get(f"tasks/{'0' * 32}/result", {"wait": "30"}).status == 404
