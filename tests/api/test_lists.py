"""Lists: filters, pages that neither skip nor repeat, and records that do not decode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tasks_app.domain.status import TaskStatus
from tasks_app.store.keys import Keys
from tests.api.client import Api
from tests.api.hand import WORKER, Hand

if TYPE_CHECKING:
    import redis

KEYS = Keys("dtq")


def walk(api: Api, path: str = "tasks", **query: Any) -> list[list[str]]:
    """The ids of every page."""
    pages = []
    cursor: str | None = ""
    while cursor is not None:
        answer = api.get(path, {**query, **({"cursor": cursor} if cursor else {})})
        assert answer.status == 200, answer
        pages.append(answer.ids)
        cursor = answer.body["next"]
    return pages


def born_together(api: Api, count: int) -> list[str]:
    """Ids of tasks made in one millisecond."""
    items = api.post("tasks/bulk", {"tasks": [{"task_type": "echo"}] * count}).body["items"]
    return [item["task"]["id"] for item in items]


def test_the_newest_come_first_and_the_last_page_ends_the_walk(api: Api) -> None:
    ids = born_together(api, 60)
    pages = walk(api, limit=25)
    assert [len(page) for page in pages] == [25, 25, 10]
    assert [task_id for page in pages for task_id in page] == ids[::-1]


def test_pages_see_each_task_once_while_others_come_and_go(api: Api, hand: Hand) -> None:
    originals = born_together(api, 500)
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = api.get("tasks", {"limit": 25, **({"cursor": cursor} if cursor else {})})
        again = api.get("tasks", {"limit": 25, **({"cursor": cursor} if cursor else {})})
        assert again.ids[-20:] == answer.ids[-20:]
        seen += answer.ids
        cursor = answer.body["next"]
        born_together(api, 10)
        hand.succeed()
        hand.claim(2)
        api.post(f"tasks/{originals[len(seen) // 2]}/cancel")
    assert [task_id for task_id in seen if task_id in set(originals)] == originals[::-1]
    assert len(seen) == len(set(seen))


def test_a_set_that_empties_under_a_reader_ends_politely(api: Api) -> None:
    born_together(api, 60)
    cursor = api.get("tasks", {"status": "queued"}).body["next"]
    api.post("queues/default/purge")
    answer = api.get("tasks", {"status": "queued", "cursor": cursor})
    assert (answer.status, answer.body) == (200, {"items": [], "next": None})


@pytest.mark.parametrize("path", ["tasks", "dlq", "audit"])
@pytest.mark.parametrize("cursor", ["x", "AAAA", "%F0", "a" * 4000, "rlwXKTAxYTIyODkxNzg1NjcwMDA5MTdlOGRiNDQ1NTBjZDY2"])
def test_a_cursor_of_somebody_else_is_refused(api: Api, path: str, cursor: str) -> None:
    answer = api.get(path, {"cursor": cursor})
    assert (answer.status, answer.code) == (400, "INVALID_CURSOR")


def test_a_cursor_of_another_list_is_refused(api: Api, hand: Hand) -> None:
    for task_id in born_together(api, 2):
        api.post(f"tasks/{task_id}/cancel")
    born_together(api, 2)
    hand.fail()
    hand.fail()
    of_tasks, of_audit, of_dlq = (api.get(path, {"limit": 1}).body["next"] for path in ("tasks", "audit", "dlq"))
    print_ = api.get("dlq").body["items"][0]["fingerprint"]
    for path, query, cursor in (
        ("tasks", {}, of_audit),
        ("tasks", {}, of_dlq),
        ("audit", {}, of_tasks),
        ("dlq", {}, of_tasks),
        ("dlq", {"fingerprint": print_}, of_dlq),
    ):
        assert api.get(path, query | {"cursor": cursor}).code == "INVALID_CURSOR"


def test_a_tampered_cursor_is_refused(api: Api) -> None:
    born_together(api, 30)
    cursor = api.get("tasks").body["next"]
    for place in (0, len(cursor) // 2, len(cursor) - 1):
        other = cursor[:place] + ("A" if cursor[place] != "A" else "B") + cursor[place + 1 :]
        assert api.get("tasks", {"cursor": other}).code == "INVALID_CURSOR"


@pytest.mark.parametrize("limit", ["0", "201", "-1", "1.5", "x", "", "١", "1" * 30])
@pytest.mark.parametrize("path", ["tasks", "dlq", "audit", "queues", "workers", "dlq/groups"])
def test_a_limit_out_of_bounds_is_refused(api: Api, path: str, limit: str) -> None:
    answer = api.get(path, {"limit": limit})
    assert (answer.status, list(answer.fields)) == (400, ["limit"])


def test_filters_narrow_and_combine(api: Api, hand: Hand) -> None:
    mail = api.submit("mail", queue="mail")
    hand.succeed()
    other = api.submit("other", queue="mail")
    echo = api.submit("echo", idempotency_key="order 7")
    assert api.get("tasks", {"queue": "mail"}).ids == [other, mail]
    assert api.get("tasks", {"queue": "mail", "task_type": "mail"}).ids == [mail]
    assert api.get("tasks", {"status": "succeeded"}).ids == [mail]
    assert api.get("tasks", {"status": "queued", "queue": "mail"}).ids == [other]
    assert api.get("tasks", {"worker_id": WORKER}).ids == [mail]
    assert api.get("tasks", {"q": echo}).ids == [echo]
    assert api.get("tasks", {"q": "order 7"}).ids == [echo]
    assert api.get("tasks", {"q": "nobody"}).ids == []


def test_times_narrow_to_the_millisecond(api: Api, redis_client: redis.Redis) -> None:
    first, second = api.submit(), api.submit()
    for task_id, ms in ((first, 1_000_000_000_000), (second, 1_000_000_000_001)):
        redis_client.hset(KEYS.task(task_id), "created_at", ms)
    born = api.get(f"tasks/{second}").body["created_at"]
    assert born == "2001-09-09T01:46:40.001Z"
    assert api.get("tasks", {"created_before": "2001-09-09T01:46:40.000Z"}).ids == []
    for text in ("2001-09-09T03:46:40.001+02:00", "2001-09-09T03:46:40.001 02:00"):  # the plus as an URL loses it
        assert api.get("tasks", {"created_before": text}).status == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "done"),
        ("status", ""),
        ("queue", "A"),
        ("task_type", "1"),
        ("worker_id", "\x00"),
        ("q", ""),
        ("q", "a" * 256),
        ("created_after", "2026-01-01"),
        ("created_before", "2026-01-01T00:00:00"),
        ("created_before", "1"),
        ("page", "2"),
        ("format", "json"),
    ],
)
def test_a_bad_or_unknown_parameter_is_named(api: Api, name: str, value: str) -> None:
    answer = api.get("tasks", {name: value})
    assert (answer.status, list(answer.fields)) == (400, [name])


def test_a_parameter_given_twice_is_refused(api: Api) -> None:
    assert api.call("GET", "tasks?status=queued&status=running").fields == {"status": ["is given more than once"]}


@pytest.mark.parametrize("path", ["queues/default", "workers/w", "tasks/" + "0" * 32, "nothing"])
def test_urls_without_parameters_refuse_any(api: Api, path: str) -> None:
    answer = api.get(path, {"limit": "5"})
    assert answer.status in {400, 404}
    if path != "nothing":
        assert list(answer.fields) == ["limit"]


@pytest.mark.parametrize(
    "damage",
    [
        {"status": None},
        {"status": b"lost"},
        {"task_type": b"\xff\xfe"},
        {"created_at": None},
        {"created_at": b"999999999999999999"},
        {"attempt": b"many"},
        {"finished_at": b"-999999999999999999"},
    ],
    ids=str,
)
def test_a_record_that_does_not_decode_spoils_no_list(
    api: Api, redis_client: redis.Redis, damage: dict[str, bytes | None]
) -> None:
    before, broken, after = born_together(api, 3)
    for name, value in damage.items():
        if value is None:
            redis_client.hdel(KEYS.task(broken), name)
        else:
            redis_client.hset(KEYS.task(broken), name, value)
    items = api.get("tasks").body["items"]
    assert [item["id"] for item in items] == [after, broken, before]
    assert set(items[1]) == {"id", "unreadable"}
    assert items[1]["unreadable"]
    for path in (f"tasks/{broken}", f"tasks/{broken}/result"):
        if "finished_at" in damage or damage.get("created_at"):
            assert api.get(f"tasks/{broken}").code == "UNREADABLE_RECORD"
        else:
            answer = api.get(path)
            assert (answer.status, answer.code) == (409, "UNREADABLE_RECORD")
            assert answer.body["details"]["task_id"] == broken


@pytest.mark.parametrize("field", ["payload", "metadata", "result"])
def test_broken_json_in_a_record_is_told_and_not_passed_on(api: Api, redis_client: redis.Redis, field: str) -> None:
    task_id = api.submit()
    redis_client.hset(KEYS.task(task_id), field, '{"a":')
    assert api.get("tasks").ids == [task_id]
    assert api.get(f"tasks/{task_id}").code == "UNREADABLE_RECORD"


def test_an_unreadable_record_can_be_discarded(api: Api, redis_client: redis.Redis) -> None:
    task_id = api.submit()
    redis_client.hdel(KEYS.task(task_id), "status")
    assert api.post(f"dlq/{task_id}/discard").status == 200
    assert api.get("tasks").ids == []


def test_an_index_entry_without_a_record_is_not_shown(api: Api, redis_client: redis.Redis) -> None:
    task_id, gone = born_together(api, 2)
    redis_client.delete(KEYS.task(gone))
    assert api.get("tasks").ids == [task_id]


def test_a_dead_letter_without_fields_is_shown_empty(api: Api, hand: Hand, redis_client: redis.Redis) -> None:
    task_id = api.submit()
    hand.fail(TaskStatus.DEAD_LETTERED)
    redis_client.xadd(KEYS.dead_letters, {"?": "?"})
    answer = api.get("dlq")
    assert answer.status == 200
    assert task_id in [item["task_id"] for item in answer.body["items"]]
