"""What many tasks leave behind once retention has taken them: streams without entries, memory as before."""

from __future__ import annotations

from functools import partial

import pytest

from tasks_app.domain.config import Config
from tasks_app.domain.status import TaskStatus
from tasks_app.store.leases import Finish
from tests.support.builders import ACTOR, make_config, make_submission
from tests.support.stage import WORKER, Stage
from tests.support.until import until

ROUND = 2000
TRACEBACK = "x" * 8000


@pytest.fixture
def config() -> Config:
    return make_config(task_retention_s=1, idem_ttl_s=1)


def nothing_of(stage: Stage, pattern: str) -> bool:
    return not stage.client.keys(pattern)


async def live_and_end(stage: Stage) -> None:
    """``ROUND`` tasks that succeed, fail for good after two attempts, are cancelled or expire; then retention."""
    submissions = [make_submission(max_attempts=2, idempotency_key=f"k{n}") for n in range(ROUND)]
    for first in range(0, ROUND, 1000):
        stage.commands.submit_many(submissions[first : first + 1000])
    ids = [task_id.decode() for task_id in stage.client.zrange(stage.keys.index("queued"), 0, -1)]
    stage.commands.cancel_many(ids[:100], ACTOR)
    for task_id in ids[100:150]:
        stage.outlive_ttl(task_id)
    while tasks := (await stage.claim()).tasks:
        ends = []
        for number, task in enumerate(tasks):
            status = TaskStatus.SUCCEEDED
            if number % 10 == 0:
                status = TaskStatus.RETRYING if task.attempt == 1 else TaskStatus.DEAD_LETTERED
            error = ("", "", "") if status is TaskStatus.SUCCEEDED else ("ValueError", f"no {number}", TRACEBACK)
            ends.append(Finish(task.id, task.attempt, status, "failed" if error[0] else "succeeded", 0, "null", *error))
        await stage.leases.finish(WORKER, ends)
        await stage.release()
    assert stage.client.zcard(stage.keys.leases) == 0
    assert stage.client.xlen(stage.keys.stream("default", 5)) == 0
    for family in (stage.keys.task("*"), stage.keys.idempotency("*", "*")):
        until(partial(nothing_of, stage, family), what=f"no {family} any more")
    await stage.sweep()
    await stage.schedule.resign("t1")


def kept(stage: Stage) -> int:
    """Bytes of all keys but the audit, which is capped. The server's own figure swings with what it frees late."""
    keys = [key for key in stage.client.scan_iter(count=1000) if key != stage.keys.audit.encode()]
    return sum(stage.client.memory_usage(key, samples=0) for key in keys)


@pytest.mark.real_redis
async def test_memory_returns_to_what_it_was(stage: Stage) -> None:
    await live_and_end(stage)
    before, keys = kept(stage), stage.client.dbsize()
    for _ in range(2):
        await live_and_end(stage)
    assert kept(stage) <= before + 4096
    assert stage.client.dbsize() <= keys + 3  # a minute's statistics more
    assert stage.client.zcard(stage.keys.retention) == 0
