"""Queues, workers and causes of dead letters: all at once, or in pages."""

from __future__ import annotations

from typing import Any

import pytest

from tasks_app.domain.api_key import Reach
from tasks_app.store.keys import Keys
from tasks_app.store.presence import Heartbeat, Presence
from tasks_app.store.queries import Queries
from tests.api.client import Api
from tests.api.hand import Hand
from tests.support.keyspace import RawClient

KEYS = Keys("dtq")
QUEUES = [f"q{number}" for number in range(5)]


def walk(api: Api, path: str, name: str, limit: int) -> list[list[Any]]:
    """What ``name`` holds in each item, by page."""
    pages = []
    cursor: str | None = ""
    while cursor is not None:
        answer = api.get(path, {"limit": limit, **({"cursor": cursor} if cursor else {})})
        assert answer.status == 200, answer
        pages.append([item[name] for item in answer.body["items"]])
        cursor = answer.body["next"]
    return pages


def born(api: Api) -> None:
    for queue in QUEUES[::-1]:
        api.submit(queue=queue)


def alive(presence: Presence, worker_id: str) -> None:
    presence.heartbeat(
        Heartbeat(
            worker_id=worker_id,
            host="h",
            pid=1,
            version="1",
            started_at_s=1.0,
            state="ready",
            concurrency=1,
            occupied=0,
            queues=(),
            processed=0,
            failed=0,
            running=(),
            note="",
        )
    )


def die(api: Api, hand: Hand, *types: str) -> list[str]:
    """A dead letter of each type; their fingerprints, by type."""
    for task_type in types:
        api.submit(task_type)
        hand.fail()
    return [next(g["fingerprint"] for g in groups(api) if g["task_type"] == task_type) for task_type in types]


def groups(api: Api) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = api.get("dlq/groups").body["items"]
    return items


def test_queues_come_by_name_and_all_without_a_limit(api: Api) -> None:
    born(api)
    assert walk(api, "queues", "name", 2) == [["q0", "q1"], ["q2", "q3"], ["q4"]]
    assert walk(api, "queues", "name", 5) == [QUEUES]
    answer = api.get("queues").body
    assert ([queue["name"] for queue in answer["items"]], answer["next"]) == (QUEUES, None)


def test_a_cursor_without_a_limit_is_for_all_the_rest(api: Api) -> None:
    born(api)
    cursor = api.get("queues", {"limit": 2}).body["next"]
    rest = api.get("queues", {"cursor": cursor}).body
    assert ([queue["name"] for queue in rest["items"]], rest["next"]) == (["q2", "q3", "q4"], None)


def test_a_queue_that_is_born_between_two_pages_shifts_none(api: Api) -> None:
    born(api)
    cursor = api.get("queues", {"limit": 2}).body["next"]
    api.submit(queue="a-first")
    assert [q["name"] for q in api.get("queues", {"limit": 2, "cursor": cursor}).body["items"]] == ["q2", "q3"]


def test_a_reach_pages_over_its_queues_only(api: Api, queries: Queries) -> None:
    born(api)
    page = queries.queue_page(limit=1, reach=Reach(("q1", "q4")))
    following = queries.queue_page(page.next, 1, Reach(("q1", "q4")))
    assert [info.name for info in (*page.items, *following.items)] == ["q1", "q4"]
    assert following.next is None


def test_workers_come_by_id(api: Api, presence: Presence) -> None:
    for worker_id in ("w3", "w1", "w2"):
        alive(presence, worker_id)
    assert walk(api, "workers", "id", 2) == [["w1", "w2"], ["w3"]]
    answer = api.get("workers").body
    assert ([worker["id"] for worker in answer["items"]], answer["next"]) == (["w1", "w2", "w3"], None)


def test_causes_come_by_when_they_were_seen_last(api: Api, hand: Hand, redis_client: RawClient) -> None:
    prints = die(api, hand, "a", "b", "c", "d")
    redis_client.zadd(KEYS.fingerprints, {print_: 1000 + number for number, print_ in enumerate(prints)})
    newest_first = [g["fingerprint"] for g in groups(api)]
    assert newest_first == prints[::-1]
    assert walk(api, "dlq/groups", "fingerprint", 3) == [newest_first[:3], newest_first[3:]]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_causes_of_one_millisecond_come_once_each(api: Api, hand: Hand, redis_client: RawClient, limit: int) -> None:
    prints = die(api, hand, "a", "b", "c", "d", "e")
    redis_client.zadd(KEYS.fingerprints, dict.fromkeys(prints, 1000))
    seen = [print_ for page in walk(api, "dlq/groups", "fingerprint", limit) for print_ in page]
    assert seen == sorted(prints, reverse=True)


def test_a_cursor_of_another_list_is_refused(api: Api, hand: Hand, presence: Presence) -> None:
    die(api, hand, "a", "b")
    born(api)
    for worker_id in ("w1", "w2"):
        alive(presence, worker_id)
    paths = ("queues", "workers", "dlq/groups", "tasks")
    cursors = {path: api.get(path, {"limit": 1}).body["next"] for path in paths}
    for path in paths:
        for other, cursor in cursors.items():
            answer = api.get(path, {"limit": 1, "cursor": cursor})
            assert answer.code == "INVALID_CURSOR" if other != path else answer.status == 200
    assert api.get("queues", {"limit": 1, "cursor": "x"}).code == "INVALID_CURSOR"
    assert list(api.get("queues", {"pages": 1}).fields) == ["pages"]
