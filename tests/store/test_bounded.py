"""However much there is, one call touches a bounded part of it. How long that takes is the benchmark ``bounded``'s."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tasks_app.domain.config import Config
from tasks_app.domain.errors import ValidationError
from tasks_app.domain.snapshot import TaskFilter
from tasks_app.domain.status import TaskStatus
from tasks_app.store.commands import MAX_BATCH
from tasks_app.store.leases import MAX_CLAIM, MAX_FINISH, Finish
from tasks_app.store.queries import Queries
from tests.support.builders import ACTOR, make_config, make_submission
from tests.support.stage import HOUR_MS, OTHER_WORKER, TOKEN, WORKER, Stage

pytestmark = pytest.mark.real_redis

MANY = 2000
COMMANDS = 3000
"""What one script call may make the server do: a microsecond or two each."""


@pytest.fixture
def config() -> Config:
    return make_config(max_queue_depth=10 * MANY)


def submit(stage: Stage, **fields: Any) -> None:
    for first in range(0, MANY, 1000):
        stage.commands.submit_many([make_submission(**fields)] * min(1000, MANY - first))


async def dead(stage: Stage) -> None:
    submit(stage)
    while tasks := (await stage.claim()).tasks:
        died = TaskStatus.DEAD_LETTERED
        ends = [Finish(t.id, t.attempt, died, "failed", 0, "", "ValueError", "no 17 of 0x4f", "t") for t in tasks]
        await stage.leases.finish(WORKER, ends)


async def lapsed(stage: Stage) -> None:
    submit(stage, max_attempts=1)
    while tasks := (await stage.claim()).tasks:
        stage.client.zadd(stage.keys.leases, {task.id: 1 for task in tasks})


async def due(stage: Stage) -> None:
    submit(stage, delay_ms=HOUR_MS)
    ids = stage.client.zrange(stage.keys.schedule, 0, -1)
    stage.client.zadd(stage.keys.schedule, dict.fromkeys(ids, 1))
    await stage.lead()


async def finished(stage: Stage) -> None:
    """Ended tasks that retention has taken."""
    await dead(stage)
    members = stage.client.zrange(stage.keys.retention, 0, -1)
    for task_id in stage.client.zrange(stage.keys.index("dead_lettered"), 0, -1):
        stage.client.delete(stage.keys.task(task_id.decode()), stage.keys.attempts(task_id.decode()))
    stage.client.zadd(stage.keys.retention, dict.fromkeys(members, 1))
    await stage.lead()


async def keyed(stage: Stage) -> None:
    """Live tasks whose idempotency keys are about to run out."""
    for first in range(0, MANY, 1000):
        some = [make_submission(idempotency_key=f"k{n}") for n in range(first, first + 1000)]
        stage.commands.submit_many(some)
    members = stage.client.zrange("dtq:index:idempotency", 0, -1)
    stage.client.zadd("dtq:index:idempotency", dict.fromkeys(members, 1))
    await stage.lead()


async def entries_lost(stage: Stage) -> None:
    submit(stage)
    stage.client.delete(stage.keys.stream("default", 5))
    await stage.lead()


async def waiting(stage: Stage) -> None:
    submit(stage)


async def claims_abandoned(stage: Stage) -> None:
    await due(stage)
    while (await stage.schedule.claim_due(TOKEN)).ids:
        pass


async def claim_due_and_requeue(stage: Stage) -> None:
    taken = await stage.schedule.claim_due(TOKEN)
    await stage.schedule.requeue_claimed(TOKEN, taken.ids)


async def finish_most(stage: Stage) -> None:
    ends: list[Finish] = []
    while len(ends) < MAX_FINISH:
        ends += [
            Finish(t.id, t.attempt, TaskStatus.SUCCEEDED, "succeeded", 0, "1") for t in (await stage.claim()).tasks
        ]
    stage.client.config_resetstat()
    await stage.leases.finish(WORKER, ends[:MAX_FINISH])


def members(stage: Stage, status: TaskStatus) -> list[str]:
    return [task_id.decode() for task_id in stage.client.zrange(stage.keys.index(status), 0, MAX_BATCH - 1)]


Prepare = Callable[[Stage], Awaitable[object]]
Step = Callable[[Stage], Any]
STEPS: dict[str, tuple[Prepare, Step]] = {
    "promote": (due, claim_due_and_requeue),
    "return claims": (claims_abandoned, lambda s: s.schedule.return_claims(TOKEN, 0)),
    "claim": (waiting, lambda s: s.leases.claim(WORKER, (), 1_000_000)),
    "finish": (waiting, finish_most),
    "reclaim": (lapsed, lambda s: s.leases.reclaim(OTHER_WORKER, (), 1_000_000)),
    "purge a queue": (waiting, lambda s: s.commands.purge_queue("default", ACTOR)),
    "purge the dead": (dead, lambda s: s.commands.purge_dlq(ACTOR)),
    "requeue": (dead, lambda s: s.commands.requeue_many(members(s, TaskStatus.DEAD_LETTERED), ACTOR)),
    "cancel": (waiting, lambda s: s.commands.cancel_many(members(s, TaskStatus.QUEUED), ACTOR)),
    "run now": (due, lambda s: s.commands.run_now_many(members(s, TaskStatus.PENDING), ACTOR)),
    "sweep retention": (finished, lambda s: s.schedule.sweep(TOKEN)),
    "sweep keys": (keyed, lambda s: s.schedule.sweep(TOKEN)),
    "repair": (entries_lost, lambda s: s.schedule.sweep(TOKEN)),
    "list": (waiting, lambda s: Queries(s.client, s.config).tasks(TaskFilter(), limit=200)),
    "list the dead": (dead, lambda s: Queries(s.client, s.config).dead_letters(limit=200)),
}


@pytest.mark.parametrize("step", STEPS)
async def test_one_step_does_a_bounded_part(stage: Stage, step: str) -> None:
    prepare, act = STEPS[step]
    await prepare(stage)
    stage.client.config_resetstat()
    made = act(stage)
    if isinstance(made, Awaitable):
        await made
    stats = stage.client.info("commandstats")
    commands = sum(int(stat["calls"]) for stat in stats.values())
    calls = sum(int(stat["calls"]) for name, stat in stats.items() if name.startswith(("cmdstat_eval", "cmdstat_exec")))
    assert commands <= COMMANDS * max(1, calls)
    assert commands < 5 * MANY  # all of them would be more
    await stage.sweep()  # to the end, so that nothing is left half way
    await stage.schedule.resign(TOKEN)


async def test_nobody_gets_more_than_the_most(stage: Stage) -> None:
    await waiting(stage)
    assert len((await stage.leases.claim(WORKER, (), 1_000_000)).tasks) == MAX_CLAIM
    with pytest.raises(ValueError, match="at most"):
        await stage.leases.finish(WORKER, [Finish("x", 1, TaskStatus.SUCCEEDED, "succeeded")] * (MAX_FINISH + 1))
    with pytest.raises(ValueError, match="at most"):
        await stage.leases.give_back(WORKER, [("x", 1)] * 501)
    with pytest.raises(ValidationError):
        stage.commands.requeue_many(["x"] * (MAX_BATCH + 1), ACTOR)
