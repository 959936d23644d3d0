"""The scheduler's steps, and the leader's lock they all check themselves."""

from __future__ import annotations

import pytest

from tasks_app.domain.status import TaskStatus
from tasks_app.store.queries import Queries
from tasks_app.store.schedule import Due
from tests.support.keyspace import dump
from tests.support.stage import HOUR_MS, TOKEN, Stage

SCHEDULED = [(TaskStatus.PENDING, 1), (TaskStatus.RETRYING, 2)]


class TestLeader:
    async def test_one_leads(self, stage: Stage, queries: Queries) -> None:
        assert queries.leader() is None
        assert await stage.schedule.lead("a", "t1")
        assert not await stage.schedule.lead("b", "t2")
        assert await stage.schedule.lead("a", "t1")
        assert queries.leader() == "a"
        assert 0 < stage.client.pttl(stage.keys.lock) <= 10_000

    async def test_a_leader_that_is_silent_is_replaced(self, stage: Stage, queries: Queries) -> None:
        await stage.schedule.lead("a", "t1")
        stage.client.pexpire(stage.keys.lock, 1)
        stage.client.delete(stage.keys.lock)
        assert await stage.schedule.lead("b", "t2")
        assert queries.leader() == "b"

    async def test_renewing_gives_it_its_full_time_again(self, stage: Stage) -> None:
        await stage.schedule.lead("a", "t1")
        stage.client.pexpire(stage.keys.lock, 500)
        assert await stage.schedule.lead("a", "t1")
        assert stage.client.pttl(stage.keys.lock) > 5000

    async def test_only_the_holder_resigns(self, stage: Stage, queries: Queries) -> None:
        await stage.schedule.lead("a", "t1")
        await stage.schedule.resign("t2")
        assert queries.leader() == "a"
        await stage.schedule.resign("t1")
        assert queries.leader() is None

    @pytest.mark.parametrize("token", ["t2", "t", "t1 ", ""])
    async def test_a_former_leader_changes_nothing(self, stage: Stage, token: str) -> None:
        task_id = await stage.task(TaskStatus.PENDING)
        stage.make_due(task_id)
        await stage.lead()
        claimed = (await stage.schedule.claim_due(TOKEN, 10)).ids
        stage.client.zadd(stage.keys.claimed, {task_id: 1})
        before = dump(stage.client)
        assert await stage.schedule.claim_due(token, 10) == Due([], None, leading=False)
        assert await stage.schedule.requeue_claimed(token, claimed) == 0
        assert await stage.schedule.return_claims(token) == 0
        assert await stage.schedule.sweep(token) is False
        assert dump(stage.client) == before

    async def test_without_a_leader_nothing_moves(self, stage: Stage) -> None:
        task_id = await stage.task(TaskStatus.PENDING)
        stage.make_due(task_id)
        before = dump(stage.client)
        assert (await stage.schedule.claim_due(TOKEN, 10)).leading is False
        assert await stage.schedule.sweep(TOKEN) is False
        assert dump(stage.client) == before


@pytest.mark.parametrize(("status", "attempt"), SCHEDULED)
async def test_a_due_task_goes_to_its_stream(stage: Stage, queries: Queries, status: TaskStatus, attempt: int) -> None:
    task_id = await stage.task(status, priority=8)
    stage.make_due(task_id)
    assert await stage.release() == 1
    task = queries.task(task_id)
    assert (task.status, task.attempt) == (TaskStatus.QUEUED, attempt)
    [(_, fields)] = stage.entries(priority=8)
    assert fields == {b"task_id": task_id.encode(), b"attempt": str(attempt).encode()}


@pytest.mark.parametrize(("status", "attempt"), SCHEDULED)
async def test_what_is_not_due_waits(stage: Stage, status: TaskStatus, attempt: int) -> None:
    task_id = await stage.task(status)
    await stage.lead()
    due = await stage.schedule.claim_due(TOKEN, 10)
    assert due.ids == []
    assert due.next_due_ms is not None and HOUR_MS - 60_000 < due.next_due_ms <= HOUR_MS
    assert stage.status(task_id) == status


async def test_nothing_scheduled_is_told_so(stage: Stage) -> None:
    await stage.lead()
    assert await stage.schedule.claim_due(TOKEN, 10) == Due([], None, leading=True)


async def test_claims_are_bounded_and_earliest_first(stage: Stage) -> None:
    ids = [await stage.task(TaskStatus.PENDING) for _ in range(5)]
    for due_at, task_id in enumerate(reversed(ids), start=1):
        stage.client.zadd(stage.keys.schedule, {task_id: due_at})
    await stage.lead()
    first = await stage.schedule.claim_due(TOKEN, 2)
    assert (first.ids, first.next_due_ms) == ([ids[4], ids[3]], 0)
    second = await stage.schedule.claim_due(TOKEN, 10)
    assert (second.ids, second.next_due_ms) == ([ids[2], ids[1], ids[0]], None)
    assert await stage.schedule.requeue_claimed(TOKEN, first.ids + second.ids) == 5


@pytest.mark.parametrize(("status", "attempt"), SCHEDULED)
async def test_a_claimed_task_whose_scheduler_died_comes_back(stage: Stage, status: TaskStatus, attempt: int) -> None:
    task_id = await stage.task(status)
    stage.make_due(task_id)
    await stage.lead()
    await stage.schedule.claim_due(TOKEN, 10)
    assert await stage.schedule.return_claims(TOKEN) == 0
    claimed_at = stage.client.zscore(stage.keys.claimed, task_id)
    stage.client.zadd(stage.keys.claimed, {task_id: claimed_at - 60_001})
    assert await stage.schedule.return_claims(TOKEN) == 1
    assert stage.status(task_id) == status
    assert await stage.release() == 1
    assert stage.record(task_id)["attempt"] == str(attempt)


async def test_a_new_leader_takes_over_what_the_former_one_had_claimed(stage: Stage) -> None:
    task_id = await stage.task(TaskStatus.PENDING)
    stage.make_due(task_id)
    await stage.lead()
    claimed = (await stage.schedule.claim_due(TOKEN, 10)).ids
    await stage.schedule.resign(TOKEN)
    assert await stage.schedule.lead("other", "t2")
    assert await stage.schedule.return_claims(TOKEN, 0) == 0
    assert await stage.schedule.return_claims("t2", 0) == 1
    assert await stage.schedule.requeue_claimed(TOKEN, claimed) == 0
    assert await stage.schedule.requeue_claimed("t2", (await stage.schedule.claim_due("t2", 10)).ids) == 1
    assert len(stage.entries()) == 1


async def test_a_claim_is_requeued_once(stage: Stage) -> None:
    task_id = await stage.task(TaskStatus.RETRYING)
    stage.make_due(task_id)
    await stage.lead()
    due = await stage.schedule.claim_due(TOKEN, 10)
    assert await stage.schedule.requeue_claimed(TOKEN, due.ids) == 1
    assert await stage.schedule.requeue_claimed(TOKEN, due.ids) == 0
    assert len(stage.entries()) == 1


async def test_a_claim_that_went_back_is_not_requeued_early(stage: Stage) -> None:
    task_id = await stage.task(TaskStatus.RETRYING)
    stage.make_due(task_id)
    await stage.lead()
    due = await stage.schedule.claim_due(TOKEN, 10)
    stage.client.zadd(stage.keys.claimed, {task_id: 1})
    await stage.schedule.return_claims(TOKEN)
    before = dump(stage.client)
    assert await stage.schedule.requeue_claimed(TOKEN, due.ids) == 0
    assert dump(stage.client) == before


async def test_two_leaders_requeue_once(stage: Stage) -> None:
    ids = [await stage.task(TaskStatus.PENDING) for _ in range(3)]
    for task_id in ids:
        stage.make_due(task_id)
    await stage.schedule.lead("a", "t1")
    claimed = (await stage.schedule.claim_due("t1", 10)).ids
    assert await stage.schedule.requeue_claimed("t1", claimed[:1]) == 1
    stage.client.delete(stage.keys.lock)  # the first leader slept past its lock
    assert await stage.schedule.lead("b", "t2")
    assert await stage.schedule.requeue_claimed("t1", claimed[1:]) == 0
    for task_id in claimed[1:]:
        stage.client.zadd(stage.keys.claimed, {task_id: 1})
    assert await stage.schedule.return_claims("t2") == 2
    assert await stage.schedule.requeue_claimed("t2", (await stage.schedule.claim_due("t2", 10)).ids) == 2
    assert sorted(fields[b"task_id"].decode() for _, fields in stage.entries()) == sorted(ids)


@pytest.mark.parametrize(("status", "attempt"), SCHEDULED)
async def test_an_expired_task_ends_without_an_entry(
    stage: Stage, queries: Queries, status: TaskStatus, attempt: int
) -> None:
    task_id = await stage.task(status, ttl_ms=60_000, idempotency_key="k")
    stage.outlive_ttl(task_id)
    stage.make_due(task_id)
    assert await stage.release() == 1
    assert queries.task(task_id).status is TaskStatus.EXPIRED
    assert stage.entries() == []
    assert queries.counts()[TaskStatus.EXPIRED] == 1


async def test_a_time_to_live_in_the_future_does_not_expire(stage: Stage) -> None:
    task_id = await stage.task(TaskStatus.PENDING, ttl_ms=60_000)
    stage.make_due(task_id)
    await stage.release()
    assert stage.status(task_id) == "queued"


async def test_a_batch_may_be_large_and_mixed(stage: Stage) -> None:
    ids = [stage.submit(delay_ms=HOUR_MS, queue=f"q{i % 3}", priority=i % 10, ttl_ms=HOUR_MS) for i in range(120)]
    for i, task_id in enumerate(ids):
        stage.make_due(task_id)
        if i % 4 == 0:
            stage.outlive_ttl(task_id)
    assert await stage.release() == 120
    assert sum(stage.status(task_id) == "expired" for task_id in ids) == 30


async def test_nothing_to_requeue_is_no_call(stage: Stage) -> None:
    assert await stage.schedule.requeue_claimed(TOKEN, []) == 0
