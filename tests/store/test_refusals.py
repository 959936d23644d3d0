"""Refusals are counted in the background, and none of them while Redis is away is forgotten."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.store.keys import Keys
from tasks_app.store.refusals import Refusals
from tasks_app.store.scripts import Scripts
from tests.support.until import until

if TYPE_CHECKING:
    import redis

    from tasks_app.domain.config import Config


@pytest.fixture
def refusals(redis_client: redis.Redis, config: Config) -> Iterator[Refusals]:
    made = Refusals(redis_client, config, flush_after_s=0.01)
    yield made
    made.close()


def test_they_arrive_by_themselves(redis_client: redis.Redis, keys: Keys, refusals: Refusals) -> None:
    refusals.count("QUEUE_FULL")
    refusals.count("VALIDATION_ERROR", 2)
    until(lambda: redis_client.hgetall(keys.refused) == {b"queue_full": b"1", b"validation_error": b"2"})
    refusals.count("QUEUE_FULL")
    until(lambda: redis_client.hget(keys.refused, "queue_full") == b"2")


def test_what_redis_does_not_take_is_kept(
    redis_client: redis.Redis, keys: Keys, refusals: Refusals, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals.close()  # no background: this test flushes by hand

    def away(*args: object) -> None:
        raise StoreUnavailable("Redis cannot be reached")

    with monkeypatch.context() as patch:
        patch.setattr(Scripts, "run", away)
        refusals.count("REDIS_UNAVAILABLE", 3)
        refusals.flush()
        refusals.count("REDIS_UNAVAILABLE")
    refusals.flush()
    assert redis_client.hgetall(keys.refused) == {b"redis_unavailable": b"4"}


def test_nothing_pending_costs_nothing(refusals: Refusals, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        refusals.flush()
    assert not caplog.records


def test_once_closed_nothing_is_written(redis_client: redis.Redis, keys: Keys, config: Config) -> None:
    closed = Refusals(redis_client, config, flush_after_s=60)
    closed.count("QUEUE_FULL")
    closed.close()
    closed.flush()
    assert not redis_client.exists(keys.refused)
