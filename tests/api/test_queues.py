"""Queues, dead letters and workers as an operator meets them."""

from __future__ import annotations

from typing import Any

import pytest

from tasks_app.api.times import parse_moment
from tasks_app.domain.status import TaskStatus
from tasks_app.store.commands import Commands, Purged
from tasks_app.store.presence import Heartbeat, Presence
from tests.api.client import Api
from tests.api.hand import Hand


def test_a_queue_tells_its_counts_and_bands(api: Api, hand: Hand) -> None:
    api.submit(queue="mail")
    hand.fail(TaskStatus.RETRYING, delay_ms=60_000)
    api.submit(queue="mail")
    hand.claim()
    oldest = api.post("tasks", {"task_type": "echo", "queue": "mail", "priority": 9}).body
    api.submit(queue="mail")
    api.submit(queue="mail", delay_seconds=60)
    body = api.get("queues/mail").body
    counts = ("queued", "pending", "retrying", "running", "dead_lettered")
    assert {name: body[name] for name in counts} == {
        "queued": 2,
        "pending": 1,
        "retrying": 1,
        "running": 1,
        "dead_lettered": 0,
    }
    waits_since = parse_moment(body["oldest_at"])
    assert waits_since is not None and abs(waits_since - (parse_moment(oldest["enqueued_at"]) or 0)) < 100
    assert body["paused"] is None
    assert {band: count for band, count in body["bands"].items() if count} == {"9": 1, "5": 1}
    assert [queue["name"] for queue in api.get("queues").body["items"]] == ["mail"]


def test_a_paused_queue_starts_nothing_and_says_who_why_and_until_when(api: Api, hand: Hand) -> None:
    api.submit()
    answer = api.post("queues/default/pause", {"reason": "moving", "until": "2099-01-01T01:00:00+01:00"})
    assert answer.status == 200
    paused = answer.body["paused"]
    assert (paused["by"], paused["reason"], paused["until"]) == ("api", "moving", "2099-01-01T00:00:00.000Z")
    assert hand.claim() == []
    assert api.post("tasks", {"task_type": "echo"}).status == 202
    assert api.post("queues/default/resume").body["paused"] is None
    assert len(hand.claim()) == 2


def test_a_pause_needs_no_body(api: Api) -> None:
    api.submit()
    assert api.post("queues/default/pause").body["paused"]["until"] is None
    assert api.post("queues/default/pause", {"reason": None, "until": None}).body["paused"]["reason"] == ""


@pytest.mark.parametrize(
    "body",
    [{"reason": 5}, {"reason": "x" * 201}, {"until": "soon"}, {"until": 5}, {"until": "2099-01-01"}, {"why": "x"}],
)
def test_a_bad_pause_is_named(api: Api, body: dict[str, Any]) -> None:
    api.submit()
    answer = api.post("queues/default/pause", body)
    assert (answer.status, list(answer.fields)) == (400, list(body))
    assert api.get("queues/default").body["paused"] is None


def test_a_pause_until_long_ago_is_over(api: Api) -> None:
    api.submit()
    answer = api.post("queues/default/pause", {"until": "0621-04-19T06:52:11.6922-21:29"})
    assert (answer.status, answer.body["paused"]) == (200, None)


@pytest.mark.parametrize("action", ["pause", "resume", "purge"])
def test_an_unknown_queue_is_not_found(api: Api, action: str) -> None:
    assert api.post(f"queues/unknown/{action}").code == "NOT_FOUND"
    assert api.get("queues/unknown").code == "NOT_FOUND"


def test_a_purge_cancels_what_waits_and_leaves_what_runs(api: Api, hand: Hand) -> None:
    running = api.submit()
    hand.claim()
    waiting = [api.submit(), api.submit(delay_seconds=60)]
    other = api.submit(queue="other")
    assert api.post("queues/default/purge").body == {"done": 2, "remaining": 0}
    assert {api.get(f"tasks/{task_id}").body["status"] for task_id in waiting} == {"cancelled"}
    assert api.get(f"tasks/{running}").body["status"] == "running"
    assert api.get(f"tasks/{other}").body["status"] == "queued"


def test_a_long_purge_goes_on_step_by_step(api: Api) -> None:
    api.post("tasks/bulk", {"tasks": [{"task_type": "echo"}] * 1000})
    api.post("tasks/bulk", {"tasks": [{"task_type": "echo"}] * 200})
    assert api.post("queues/default/purge").body == {"done": 1200, "remaining": 0}


def test_a_purge_that_gets_nowhere_ends(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = iter([Purged(500, 700), Purged(0, 700)])
    monkeypatch.setattr(Commands, "purge_dlq", lambda self, actor: next(steps))
    assert api.post("dlq/purge").body == {"done": 500, "remaining": 700}


def test_dead_letters_by_page_group_and_fingerprint(api: Api, hand: Hand) -> None:
    for message in ("no route to 10.0.0.1", "no route to 10.0.0.2", "disk full"):
        api.submit()
        hand.fail(message=message)
    letters = api.get("dlq").body["items"]
    assert [letter["error_message"] for letter in letters] == [
        "disk full",
        "no route to 10.0.0.2",
        "no route to 10.0.0.1",
    ]
    groups = api.get("dlq/groups").body["items"]
    assert sorted(group["count"] for group in groups) == [1, 2]
    largest = max(groups, key=lambda group: group["count"])
    alike = api.get("dlq", {"fingerprint": largest["fingerprint"]}).body["items"]
    assert [letter["task_id"] for letter in alike] == [letter["task_id"] for letter in letters[1:]]
    assert api.get("dlq", {"fingerprint": "none"}).body["items"] == []


def test_purging_the_dead_letters_discards_them(api: Api, hand: Hand) -> None:
    ids = []
    for _ in range(3):
        ids.append(api.submit())
        hand.fail()
    assert api.post("dlq/purge").body == {"done": 3, "remaining": 0}
    assert {api.get(f"tasks/{task_id}").status for task_id in ids} == {404}
    assert api.get("dlq").body["items"] == []


@pytest.fixture
def worker(presence: Presence) -> str:
    """A worker that has just been heard of."""
    beat = Heartbeat(
        worker_id="host-1-0badcafe",
        host="host",
        pid=1,
        version="1",
        started_at_s=1_000_000_000.0,
        state="ready",
        concurrency=10,
        occupied=2,
        queues=("mail",),
        processed=3,
        failed=1,
        running=("0" * 32,),
        note="",
    )
    presence.heartbeat(beat)
    return beat.worker_id


def test_workers_are_listed_and_shown(api: Api, worker: str) -> None:
    [listed] = api.get("workers").body["items"]
    assert api.get(f"workers/{worker}").body == listed
    assert (listed["id"], listed["state"], listed["queues"], listed["occupied"]) == (worker, "ready", ["mail"], 2)
    assert (listed["started_at"], listed["running"]) == ("2001-09-09T01:46:40.000Z", ["0" * 32])


def test_attempts_progress_and_log_are_in_the_detail(api: Api, hand: Hand) -> None:
    task_id = api.submit()
    hand.fail(TaskStatus.RETRYING, delay_ms=60_000, message="not yet")
    api.post(f"tasks/{task_id}/run-now")
    [claimed] = hand.claim()
    hand.note(claimed, 0.5, "half way", "first line", "second <b>line</b>")
    body = api.get(f"tasks/{task_id}").body
    assert body["progress"] == {"fraction": 0.5, "note": "half way"}
    assert [line["message"] for line in body["log"]] == ["first line", "second <b>line</b>"]
    assert body["attempts"][0]["outcome"] == "failed"
    assert body["attempts"][0]["error"] == {"class": "ValueError", "message": "not yet", "traceback": "Traceback: ..."}
    [listed] = api.get("tasks").body["items"]
    assert set(body) - set(listed) == {"payload", "metadata", "result", "attempts", "log"}
