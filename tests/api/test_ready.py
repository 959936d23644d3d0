"""Readiness tells the truth about what waits. What it says of a server that fails is in ``test_unavailable.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tasks_app.store.keys import GROUP, Keys
from tests.api.client import Api
from tests.api.hand import Hand

if TYPE_CHECKING:
    import redis

    from tasks_app.domain.config import Config

pytestmark = pytest.mark.real_redis  # fakeredis has no INFO


def ready() -> tuple[int, dict[str, Any]]:
    """The status, and per check its whether and what."""
    answer = Api().call("GET", "/ready")
    return answer.status, {check["name"]: (check["ok"], check["detail"]) for check in answer.body["checks"]}


def test_every_check_holds(api: Api) -> None:
    status, checks = ready()
    assert (status, list(checks)) == (200, ["redis", "writable", "version", "groups"])
    assert checks["groups"] == (True, "0 lanes with waiting tasks")


def test_a_lost_group_is_no_outage(api: Api, hand: Hand, redis_client: redis.Redis, config: Config) -> None:
    """The next claim makes it again and reads everything."""
    keys = Keys(config.key_prefix)
    api.submit(queue="mail")
    api.submit(queue="mail")
    assert ready()[1]["groups"] == (True, "1 lanes with waiting tasks, 1 without a group until the next claim")
    hand.claim(1)
    assert ready()[1]["groups"] == (True, "1 lanes with waiting tasks")
    redis_client.xgroup_destroy(keys.stream("mail", 5), GROUP)
    assert ready()[0] == 200
    assert len(hand.claim(1)) == 1


def test_a_lane_of_another_kind_is_named(api: Api, redis_client: redis.Redis, config: Config) -> None:
    keys = Keys(config.key_prefix)
    redis_client.set(keys.stream("mail", 5), "not a stream")
    redis_client.sadd(keys.ready, "mail:p5")
    status, checks = ready()
    assert (status, checks["groups"]) == (503, (False, "no stream: mail:p5"))
