"""Keys for some queues: what they can get at, and that nothing else shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from django.test import Client

from tasks_app import runtime
from tests.api.keyed import ABSENT, Keyed, refused

if TYPE_CHECKING:
    import redis

    from tests.api.hand import Hand


@pytest.fixture
def mail(grant: Callable[..., Keyed]) -> Keyed:
    """A key for everything in queues of mail."""
    return grant("submit", "operate", queues=["mail-*"])


def test_submitting(almighty: Keyed, mail: Keyed) -> None:
    assert mail.submit("mail-eu")
    assert refused(mail.post("tasks", {"task_type": "echo", "queue": "secret"}))
    assert refused(mail.post("tasks", {"task_type": "echo"}))  # its queue would be `default`
    items = mail.post(
        "tasks/bulk",
        {"tasks": [{"task_type": "echo", "queue": name} for name in ("mail-eu", "secret", "mail-us")]},
    ).body["items"]
    assert [item["status"] for item in items] == [202, 403, 202]
    assert items[1]["error"]["code"] == "FORBIDDEN"
    assert [queue["name"] for queue in almighty.get("queues").body["items"]] == ["mail-eu", "mail-us"]


def test_a_handlers_own_queue_counts(grant: Callable[..., Keyed], monkeypatch: pytest.MonkeyPatch) -> None:
    from tasks_app.domain.submission import Defaults

    monkeypatch.setattr(runtime.registry(), "defaults", lambda name: Defaults(queue="mail-eu"))
    assert grant("submit", queues=["mail-*"]).post("tasks", {"task_type": "echo"}).status == 202
    assert refused(grant("submit", name="b", queues=["sms"]).post("tasks", {"task_type": "echo"}))


def test_single_tasks(almighty: Keyed, mail: Keyed, hand: Hand) -> None:
    own, foreign = almighty.submit("mail-eu"), almighty.submit("secret")
    assert mail.get(f"tasks/{own}").status == 200
    assert mail.get(f"tasks/{own}/result").status == 202
    unknown = mail.get(f"tasks/{ABSENT}")
    for method, path in (
        ("GET", ""),
        ("GET", "/result"),
        ("POST", "/cancel"),
        ("POST", "/requeue"),
        ("POST", "/run-now"),
    ):
        answer = mail.get(f"tasks/{foreign}{path}") if method == "GET" else mail.post(f"tasks/{foreign}{path}")
        assert refused(answer, 404)
        assert answer.body["message"].replace(foreign, ABSENT) == unknown.body["message"]
    assert mail.post(f"tasks/{own}/cancel").status == 202
    hand.fail()
    assert refused(mail.post(f"dlq/{foreign}/requeue"), 404)
    assert refused(mail.post(f"dlq/{foreign}/discard"), 404)
    assert almighty.get(f"tasks/{foreign}").body["status"] == "dead_lettered"
    assert mail.get("dlq").body["items"] == []
    assert len(almighty.get("dlq").body["items"]) == 1


def test_a_damaged_record_is_out_of_reach(mail: Keyed, almighty: Keyed, redis_client: redis.Redis) -> None:
    task_id = mail.submit("mail-eu")
    redis_client.hdel(f"dtq:task:{task_id}", "queue")
    assert refused(mail.get(f"tasks/{task_id}"), 404)
    assert mail.get("tasks").body["items"] == []
    assert almighty.get(f"tasks/{task_id}").code == "UNREADABLE_RECORD"


def test_lists_and_filters(almighty: Keyed, mail: Keyed, hand: Hand) -> None:
    for _ in range(3):
        for queue in ("secret", "mail-eu", "mail-us"):
            almighty.submit(queue, idempotency_key=f"{queue}-{_}")
    almighty.submit("secret-2", task_type="hidden", delay_seconds=60)
    hand.claim(4)
    assert {task["queue"] for task in mail.get("tasks").body["items"]} == {"mail-eu", "mail-us"}
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = mail.get("tasks", {"limit": 2, **({"cursor": cursor} if cursor else {})})
        seen += page.ids
        cursor = page.body["next"]
        if cursor is None:
            break
    everything = [task for task in almighty.get("tasks").body["items"] if task["queue"].startswith("mail-")]
    assert seen == [task["id"] for task in everything]
    for query in ({"status": "queued"}, {"status": "running"}, {"task_type": "echo"}, {"q": seen[0][:6]}):
        listed = mail.get("tasks", {**query, "limit": 100}).body["items"]
        assert {task["queue"] for task in listed} <= {"mail-eu", "mail-us"}
        assert len(listed) == sum(
            all(task.get(name) == value for name, value in query.items() if name != "q") for task in everything
        )
    assert len(mail.get("tasks", {"queue": "mail-eu"}).ids) == 3
    assert refused(mail.get("tasks", {"queue": "secret"}))
    assert refused(mail.get("tasks", {"queue": "unheard-of"}))
    assert mail.get("tasks", {"q": "secret-0"}).body["items"] == []
    assert len(mail.get("tasks", {"q": "mail-eu-0"}).ids) == 1
    assert [queue["name"] for queue in mail.get("queues").body["items"]] == ["mail-eu", "mail-us"]


def test_a_reach_of_many_queues_is_paged_all_the_same(almighty: Keyed, mail: Keyed) -> None:
    for n in range(12):
        almighty.submit(f"mail-{n}")
        almighty.submit(f"secret-{n}")
    first = mail.get("tasks", {"limit": 7})
    rest = mail.get("tasks", {"limit": 7, "cursor": first.body["next"]})
    queues = [task["queue"] for task in first.body["items"] + rest.body["items"]]
    assert queues == [f"mail-{n}" for n in reversed(range(12))]
    assert rest.body["next"] is None


def test_a_reach_of_no_queue_sees_nothing(almighty: Keyed, grant: Callable[..., Keyed], hand: Hand) -> None:
    almighty.submit("secret")
    hand.claim()
    nothing = grant("read", queues=["none-*"])
    assert nothing.get("tasks").body == {"items": [], "next": None}
    assert nothing.get("queues").body["items"] == []


def test_dead_letters(almighty: Keyed, mail: Keyed, hand: Hand) -> None:
    for queue in ("secret", "mail-eu", "mail-eu", "secret"):
        almighty.submit(queue)
        hand.fail(message="same")
    [fingerprint] = {letter["fingerprint"] for letter in almighty.get("dlq").body["items"]}
    for query in ({}, {"fingerprint": fingerprint}):
        letters = mail.get("dlq", query).body["items"]
        assert [letter["queue"] for letter in letters] == ["mail-eu", "mail-eu"]
        assert [letter["fingerprint"] for letter in letters] == [fingerprint] * 2
        assert letters[0]["failed_at"] >= letters[1]["failed_at"]
    first = mail.get("dlq", {"limit": 1}).body
    assert mail.get("dlq", {"limit": 1, "cursor": first["next"]}).body["next"] is None
    assert mail.post(f"dlq/{first['items'][0]['task_id']}/requeue").status == 202


def test_queues_by_name(almighty: Keyed, mail: Keyed) -> None:
    almighty.submit("mail-eu")
    almighty.submit("secret")
    assert mail.get("queues/mail-eu").status == 200
    assert mail.get("queues/mail-none").status == 404
    for queue in ("secret", "unheard-of"):
        assert refused(mail.get(f"queues/{queue}"))
        for action in ("pause", "resume", "purge"):
            assert refused(mail.post(f"queues/{queue}/{action}"))
    assert mail.post("queues/mail-eu/pause").body["paused"]["by"] == "key:ci"
    assert mail.post("queues/mail-eu/resume").body["paused"] is None
    assert mail.post("queues/mail-eu/purge").body == {"done": 1, "remaining": 0}
    assert almighty.get("queues/secret").body["queued"] == 1


def test_what_spans_all_queues_is_refused(almighty: Keyed, mail: Keyed, hand: Hand) -> None:
    almighty.submit("secret")
    hand.fail()
    for path in ("dlq/groups", "workers", "workers/w1", "audit"):
        assert refused(mail.get(path))
    for path in ("dlq/purge", "workers/w1/quiet", "workers/w1/resume", "workers/w1/stop"):
        assert refused(mail.post(path))
    assert len(almighty.get("dlq").body["items"]) == 1
    assert Client().get("/metrics", headers={"X-API-Key": mail.secret}).status_code == 403
