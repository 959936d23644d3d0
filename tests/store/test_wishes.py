"""What operators want of a worker: where it stands, who hears of it, and when it ends."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tasks_app.domain.errors import NotFound, WorkerLeaving
from tasks_app.domain.snapshot import Actor
from tasks_app.domain.wish import Told, Wish
from tasks_app.store.presence import Heartbeat
from tasks_app.store.wishes import Wishes
from tests.support.builders import ACTOR, make_config
from tests.support.until import until

if TYPE_CHECKING:
    import redis

    from tasks_app.store.keys import Keys
    from tasks_app.store.presence import Presence
    from tasks_app.store.queries import Queries

BEAT = Heartbeat("w", "host", 1, "1", 0.0, "ready", 5, 0, (), 0, 0)
DAY_MS = 86_400_000
ADA = Actor("ada")


@pytest.fixture
def wishes(redis_client: redis.Redis, presence: Presence) -> Wishes:
    presence.heartbeat(BEAT)
    return Wishes(redis_client, make_config())


def test_it_stands_until_it_is_taken_back(wishes: Wishes, presence: Presence, queries: Queries) -> None:
    assert presence.heartbeat(BEAT) is None
    answered = wishes.tell("w", Wish.QUIET, ACTOR)
    assert answered == queries.worker("w")
    assert [presence.heartbeat(BEAT) for _ in range(2)] == [Wish.QUIET] * 2
    seen = queries.worker("w")
    assert seen.told == Told(Wish.QUIET, "tester", seen.told.at if seen.told else 0)
    assert queries.workers() == [seen]
    wishes.tell("w", Wish.RESUME, ACTOR)
    assert presence.heartbeat(BEAT) is None
    assert queries.worker("w").told is None


@pytest.mark.parametrize(("occupied", "state"), [(0, "ready"), (5, "busy")])
def test_what_it_said_before_it_was_told_is_not_what_it_does_now(
    wishes: Wishes, presence: Presence, queries: Queries, occupied: int, state: str
) -> None:
    def beats_quietly() -> bool:
        presence.heartbeat(replace(BEAT, state="quiet", occupied=occupied))
        return queries.worker("w").state == "quiet"

    wishes.tell("w", Wish.QUIET, ACTOR)
    until(beats_quietly)
    wishes.tell("w", Wish.RESUME, ACTOR)
    wishes.tell("w", Wish.QUIET, ACTOR)
    assert queries.worker("w").state == state
    until(beats_quietly)


def test_once_more_changes_nothing_but_the_audit(wishes: Wishes, queries: Queries) -> None:
    for wish in (Wish.RESUME, Wish.QUIET):
        wishes.tell("w", wish, ADA)
        first = queries.worker("w")
        wishes.tell("w", wish, ACTOR)
        assert queries.worker("w") == first
    noted = [(entry.actor, entry.action, entry.target, entry.request_id) for entry in queries.audit().items]
    assert noted == [
        ("tester", "quiet", "worker:w", "req-1"),
        ("ada", "quiet", "worker:w", ""),
        ("tester", "resume", "worker:w", "req-1"),
        ("ada", "resume", "worker:w", ""),
    ]


def test_a_stop_cannot_be_taken_back(wishes: Wishes, presence: Presence, queries: Queries) -> None:
    wishes.tell("w", Wish.QUIET, ACTOR)
    wishes.tell("w", Wish.STOP, ACTOR)
    wishes.tell("w", Wish.QUIET, ADA)  # which a stopping worker is
    assert presence.heartbeat(BEAT) is Wish.STOP
    with pytest.raises(WorkerLeaving, match="Worker w is stopping, which cannot be taken back"):
        wishes.tell("w", Wish.RESUME, ACTOR)
    assert presence.heartbeat(BEAT) is Wish.STOP
    assert queries.audit().items[0].action == "quiet"


def test_a_worker_that_drains_by_itself_cannot_be_resumed(wishes: Wishes, presence: Presence) -> None:
    presence.heartbeat(replace(BEAT, state="draining"))
    with pytest.raises(WorkerLeaving) as refused:
        wishes.tell("w", Wish.RESUME, ACTOR)
    assert refused.value.details == {"state": "draining"}


@pytest.mark.parametrize("wish", Wish)
def test_who_is_not_there_is_told_nothing(
    wishes: Wishes, presence: Presence, redis_client: redis.Redis, keys: Keys, wish: Wish
) -> None:
    with pytest.raises(NotFound):
        wishes.tell("nobody", wish, ACTOR)
    redis_client.delete(keys.worker("w"))  # three heartbeats are missing
    with pytest.raises(WorkerLeaving, match="Worker w is gone: its heartbeats have stopped"):
        wishes.tell("w", wish, ACTOR)
    presence.leave("w")
    with pytest.raises(NotFound):
        wishes.tell("w", wish, ACTOR)
    assert not redis_client.exists(keys.told("w"), keys.told("nobody"), keys.audit)


def test_it_outlives_a_pause_of_the_worker_and_ends_a_day_after_its_last_heartbeat(
    wishes: Wishes, presence: Presence, redis_client: redis.Redis, keys: Keys
) -> None:
    wishes.tell("w", Wish.QUIET, ACTOR)
    redis_client.delete(keys.worker("w"))  # it is frozen; its record ends, and comes again when it goes on
    redis_client.pexpire(keys.told("w"), 5_000)
    assert presence.heartbeat(BEAT) is Wish.QUIET
    assert DAY_MS - 1_000 < redis_client.pttl(keys.told("w")) <= DAY_MS


def test_it_goes_with_the_worker(wishes: Wishes, presence: Presence, redis_client: redis.Redis, keys: Keys) -> None:
    wishes.tell("w", Wish.STOP, ACTOR)
    presence.leave("w")
    assert not redis_client.exists(keys.told("w"))


def test_what_is_no_wish_is_neither_followed_nor_shown(
    wishes: Wishes, presence: Presence, queries: Queries, redis_client: redis.Redis, keys: Keys
) -> None:
    for planted in (b"resume", b"\xff", b""):
        redis_client.hset(keys.told("w"), "wish", planted)
        assert presence.heartbeat(BEAT) is None
        assert queries.worker("w").told is None


@pytest.mark.real_redis
def test_the_worker_is_called_at_once(wishes: Wishes, redis_client: redis.Redis, keys: Keys) -> None:
    with redis_client.pubsub() as listening:
        listening.subscribe(keys.control("w"))
        listening.get_message(timeout=5)
        wishes.tell("w", Wish.QUIET, ACTOR)
        heard = listening.get_message(timeout=5)
    assert heard is not None
    assert heard["data"] == b'{"told":true}'


@pytest.mark.real_redis
def test_a_server_that_is_full_takes_it(wishes: Wishes, presence: Presence, redis_client: redis.Redis) -> None:
    redis_client.config_set("maxmemory", 1)
    try:
        wishes.tell("w", Wish.STOP, ACTOR)
    finally:
        redis_client.config_set("maxmemory", 0)
    assert presence.heartbeat(BEAT) is Wish.STOP
