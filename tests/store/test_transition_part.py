"""The table as the scripts have it: each of the 81 pairs is made or refused by the one part that writes a status."""

from __future__ import annotations

from itertools import product

import pytest
import redis

from tasks_app.domain.config import Config
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.transitions import VALID_TRANSITIONS
from tasks_app.store.keys import Keys
from tasks_app.store.scripts import prelude
from tests.architecture.sources import LUA
from tests.support.keyspace import dump

PAIRS = list(product(TaskStatus, TaskStatus))


@pytest.fixture
def damaged() -> set[str]:
    return {"t1"}  # planted below without its indexes, as only the part itself is looked at


def move(client: redis.Redis, config: Config, keys: Keys, current: TaskStatus, target: TaskStatus) -> None:
    client.hset(keys.task("t1"), mapping={"status": current, "queue": "default", "task_type": "echo"})
    part = (LUA / "lib" / "transition.lua").read_text()
    act = "transition({ id = 't1', status = ARGV[1], queue = 'default', type = 'echo' }, ARGV[2], 'moved', 1)"
    client.eval(f"{prelude(keys, config)}\n{part}\n{act}", 0, current, target)


@pytest.mark.parametrize(("current", "target"), [p for p in PAIRS if p[1] in VALID_TRANSITIONS[p[0]]])
def test_a_listed_move_is_written(
    redis_client: redis.Redis, config: Config, keys: Keys, current: TaskStatus, target: TaskStatus
) -> None:
    move(redis_client, config, keys, current, target)
    assert redis_client.hmget(keys.task("t1"), "status", "moved") == [target.encode(), b"1"]
    redis_client.delete(keys.task("t1"))


@pytest.mark.parametrize(("current", "target"), [p for p in PAIRS if p[1] not in VALID_TRANSITIONS[p[0]]])
def test_any_other_move_is_refused_and_writes_nothing(
    redis_client: redis.Redis, config: Config, keys: Keys, current: TaskStatus, target: TaskStatus
) -> None:
    with pytest.raises(redis.ResponseError, match=f"INVALID_TRANSITION {current} {target}"):
        move(redis_client, config, keys, current, target)
    assert redis_client.hgetall(keys.task("t1")) == {
        b"status": current.encode(),
        b"queue": b"default",
        b"task_type": b"echo",
    }
    assert list(dump(redis_client)) == [keys.task("t1")]
    redis_client.delete(keys.task("t1"))
