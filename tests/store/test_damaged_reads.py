"""Damaged entries beside the records (attempts, log lines, pauses, heartbeats) show as such and spoil no others."""

from __future__ import annotations

import pytest

from tasks_app.domain.errors import NotFound
from tasks_app.domain.status import TaskStatus
from tasks_app.store.queries import Queries
from tests.support.stage import Stage


@pytest.mark.parametrize("entry", [b"\xff", b"[]", b"{}", b'{"number": "x"}', b"null"])
async def test_a_damaged_attempt_spoils_no_other(stage: Stage, queries: Queries, entry: bytes) -> None:
    task_id = await stage.task(TaskStatus.DEAD_LETTERED)
    stage.client.lpush(stage.keys.attempts(task_id), entry)
    first, *others = queries.detail(task_id).attempts
    assert (first.error_class, len(others)) == ("UnreadableRecord", 1)


async def test_a_damaged_log_line_is_all_message(stage: Stage, queries: Queries) -> None:
    task_id = await stage.task(TaskStatus.DEAD_LETTERED)
    stage.client.rpush(stage.keys.log(task_id), b"no time \xff", b"")
    stage.client.expire(stage.keys.log(task_id), 60)
    assert [(line.at, line.message) for line in queries.detail(task_id).log] == [(0, "no time \ufffd"), (0, "")]


async def test_a_damaged_pause_is_shown_as_one(stage: Stage, queries: Queries) -> None:
    stage.submit()
    stage.client.set(stage.keys.paused("default"), "{", px=60_000)
    pause = queries.queue("default").pause
    assert pause is not None and pause.reason == "(unreadable)"


@pytest.mark.parametrize("running", [b"{", b"{}", b"7"])
async def test_a_damaged_heartbeat_is_shown_with_what_can_be_read(
    stage: Stage, queries: Queries, running: bytes
) -> None:
    key = stage.keys.worker("w")
    stage.client.hset(key, mapping={"host": "h", "pid": "x", "concurrency": "8", "running": running})
    stage.client.expire(key, 60)
    stage.client.zadd(stage.keys.workers, {"w": 1})
    info = queries.worker("w")
    assert (info.host, info.pid, info.concurrency, info.running) == ("h", 0, 8, ())
    assert queries.workers() == [info]
    with pytest.raises(NotFound):
        queries.worker("x")
