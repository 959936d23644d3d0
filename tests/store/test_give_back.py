"""Give-back: a deploy hands unfinished tasks over at once, and never costs one its last attempt."""

from __future__ import annotations

import pytest

from tasks_app.domain.status import TaskStatus
from tasks_app.store.presence import Presence
from tasks_app.store.queries import Queries
from tests.support.builders import ACTOR
from tests.support.keyspace import dump
from tests.support.stage import OTHER_WORKER, WORKER, Stage


async def test_another_worker_re_adopts_at_once_at_the_same_attempt(stage: Stage, queries: Queries) -> None:
    task = await stage.running(max_attempts=1)
    assert (await stage.leases.reclaim(OTHER_WORKER, (), 5)).tasks == []
    assert await stage.leases.give_back(WORKER, [(task.id, 1)]) == 1
    [again] = (await stage.leases.reclaim(OTHER_WORKER, (), 5)).tasks
    assert (again.id, again.attempt) == (task.id, 1)
    detail = queries.detail(task.id)
    assert detail.task.give_backs == 1
    assert [(a.number, a.outcome, a.worker_id) for a in detail.attempts] == [
        (1, "given_back", WORKER),
        (1, "running", OTHER_WORKER),
    ]


async def test_many_deploys_cost_no_attempt(stage: Stage, queries: Queries) -> None:
    task = await stage.running(max_attempts=1)
    for deploy in range(1, 6):
        assert await stage.leases.give_back(WORKER, [(task.id, 1)]) == 1
        [task] = (await stage.leases.reclaim(WORKER, (), 5)).tasks
        assert queries.task(task.id).give_backs == deploy
    assert await stage.finish(task, TaskStatus.SUCCEEDED) == "succeeded"


async def test_a_crash_after_a_give_back_costs_one(stage: Stage) -> None:
    task = await stage.running(max_attempts=1)
    await stage.leases.give_back(WORKER, [(task.id, 1)])
    await stage.leases.reclaim(OTHER_WORKER, (), 5)
    stage.lapse(task.id)
    assert (await stage.leases.reclaim(WORKER, (), 5)).tasks == []
    assert stage.record(task.id)["error_class"] == "WorkerLost"


async def test_an_end_that_came_just_in_time_counts(stage: Stage) -> None:
    task = await stage.running()
    await stage.leases.give_back(WORKER, [(task.id, 1)])
    assert await stage.finish(task, TaskStatus.SUCCEEDED) == "succeeded"
    assert (await stage.leases.reclaim(OTHER_WORKER, (), 5)).tasks == []


async def test_a_give_back_is_forgotten_by_the_next_attempt(stage: Stage) -> None:
    task = await stage.running(max_attempts=2)
    await stage.leases.give_back(WORKER, [(task.id, 1)])
    await stage.finish(task, TaskStatus.RETRYING, delay_ms=0)
    await stage.release()
    [again] = (await stage.claim()).tasks
    stage.lapse(again.id)
    assert (await stage.leases.reclaim(OTHER_WORKER, (), 5)).tasks == []
    assert stage.record(task.id)["error_class"] == "WorkerLost"


async def test_a_lease_thread_that_does_not_know_yet_keeps_nothing(stage: Stage, presence: Presence) -> None:
    task = await stage.running()
    await stage.leases.give_back(WORKER, [(task.id, 1)])
    before = dump(stage.client)
    assert presence.renew(WORKER, [(task.id, 1)]).lost == []
    assert dump(stage.client) == before
    assert len((await stage.leases.reclaim(OTHER_WORKER, (), 5)).tasks) == 1


async def test_it_rings_for_the_next_worker(stage: Stage) -> None:
    task = await stage.running()
    stage.client.delete(stage.keys.wake("default"))
    await stage.leases.give_back(WORKER, [(task.id, 1)])
    assert await stage.rung(("default",), 1.0)


async def test_only_what_is_ours_is_counted(stage: Stage) -> None:
    mine, ended = await stage.running(), await stage.running()
    await stage.finish(ended, TaskStatus.SUCCEEDED)
    assert await stage.leases.give_back(WORKER, [(mine.id, 1), (ended.id, 1), ("0" * 32, 1), (mine.id, 2)]) == 1
    assert await stage.leases.give_back(WORKER, []) == 0


async def test_a_cancel_ends_it_instead(stage: Stage) -> None:
    task = await stage.running()
    with pytest.raises(Exception, match="told to stop"):
        stage.commands.cancel(task.id, ACTOR)
    await stage.leases.give_back(WORKER, [(task.id, 1)])
    reply = await stage.leases.reclaim(OTHER_WORKER, (), 5)
    assert reply.tasks == [] and [a.reason for a in reply.absorbed] == ["cancelled"]
    assert stage.status(task.id) == "cancelled"
