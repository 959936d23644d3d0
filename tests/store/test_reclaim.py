"""Reclaim: what happens to the tasks of a worker that is gone."""

from __future__ import annotations

import pytest

from tasks_app.domain.config import Config
from tasks_app.domain.errors import CancelRequested
from tasks_app.domain.status import TaskStatus
from tasks_app.store.leases import Absorbed, ClaimReply
from tasks_app.store.presence import Presence
from tasks_app.store.queries import Queries
from tests.support.builders import ACTOR, make_config, make_submission
from tests.support.keyspace import dump, pending
from tests.support.stage import OTHER_WORKER, WORKER, Stage


async def test_a_live_lease_is_respected(stage: Stage) -> None:
    await stage.running()
    before = dump(stage.client)
    assert await stage.leases.reclaim(OTHER_WORKER, (), 5) == ClaimReply([], [])
    assert dump(stage.client) == before


async def test_a_lost_task_is_re_adopted_with_its_next_attempt(stage: Stage, queries: Queries) -> None:
    task = await stage.running(payload_json='{"n":1}')
    stage.lapse(task.id)
    [again] = (await stage.leases.reclaim(OTHER_WORKER, (), 5)).tasks
    assert (again.id, again.attempt, again.payload_json) == (task.id, 2, '{"n":1}')
    record = stage.record(task.id)
    assert (record["status"], record["worker_id"]) == ("running", OTHER_WORKER)
    stream = stage.keys.stream("default", 5)
    assert pending(stage.client, stream, "workers") == {record["entry"]: OTHER_WORKER}
    lease = stage.client.zscore(stage.keys.leases, task.id)
    assert lease == int(record["started_at"]) + stage.config.lease_ms
    assert [(a.number, a.outcome, a.worker_id) for a in queries.detail(task.id).attempts] == [
        (1, "lost", WORKER),
        (2, "running", OTHER_WORKER),
    ]
    assert await stage.finish(again, TaskStatus.SUCCEEDED, OTHER_WORKER) == "succeeded"


async def test_used_up_attempts_end_in_the_dead_letters(stage: Stage, queries: Queries) -> None:
    task = await stage.running(max_attempts=2, idempotency_key="k")
    for attempt in (1, 2):
        stage.lapse(task.id)
        reply = await stage.leases.reclaim(OTHER_WORKER, (), 5)
        assert len(reply.tasks) == (attempt == 1)
    assert reply.absorbed == [Absorbed(task.id, "default", "dead_lettered")]
    [letter] = queries.dead_letters().items
    assert (letter.task_id, letter.error_class, letter.attempts) == (task.id, "WorkerLost", 2)
    assert letter.worker_id == OTHER_WORKER
    assert [(a.number, a.outcome) for a in queries.detail(task.id).attempts] == [(1, "lost"), (2, "lost")]


async def test_leases_of_a_queue_without_workers_hide_nobody_elses(stage: Stage) -> None:
    stage.commands.submit_many([make_submission(queue="orphaned") for _ in range(300)])
    orphans = [task.id for _ in range(3) for task in (await stage.claim(queues=("orphaned",))).tasks]
    ours = await stage.running(queue="ours")
    stage.client.zadd(stage.keys.leases, dict.fromkeys(orphans, 1) | {ours.id: 2})
    assert not (await stage.leases.reclaim(OTHER_WORKER, ("ours",), 5)).tasks
    assert [task.id for task in (await stage.leases.reclaim(OTHER_WORKER, ("ours",), 5)).tasks] == [ours.id]
    assert len((await stage.leases.reclaim(OTHER_WORKER, (), 5)).tasks) == 5


async def test_a_full_worker_still_buries(stage: Stage) -> None:
    task = await stage.running(max_attempts=1)
    other = await stage.running(max_attempts=2)
    stage.lapse(task.id)
    stage.lapse(other.id)
    assert (await stage.leases.reclaim(OTHER_WORKER, (), 0)).tasks == []
    assert (stage.status(task.id), stage.status(other.id)) == ("dead_lettered", "running")


class TestDeadLettersOff:
    @pytest.fixture
    def config(self) -> Config:
        return make_config(dlq_enabled=False)

    async def test_used_up_attempts_fail(self, stage: Stage, queries: Queries) -> None:
        task = await stage.running(max_attempts=1)
        stage.lapse(task.id)
        await stage.leases.reclaim(OTHER_WORKER, (), 5)
        assert (stage.status(task.id), stage.record(task.id)["error_class"]) == ("failed", "WorkerLost")
        assert queries.dead_letters().items == []


async def test_as_many_as_there_are_slots(stage: Stage) -> None:
    for _ in range(5):
        stage.lapse((await stage.running()).id)
    assert len((await stage.leases.reclaim(OTHER_WORKER, (), 2)).tasks) == 2
    assert len((await stage.leases.reclaim(OTHER_WORKER, (), 9)).tasks) == 3


async def test_only_queues_this_worker_serves(stage: Stage) -> None:
    a, b = await stage.running(queue="a"), await stage.running(queue="b")
    stage.lapse(a.id)
    stage.lapse(b.id)
    assert [task.id for task in (await stage.leases.reclaim(OTHER_WORKER, ("b",), 9)).tasks] == [b.id]
    assert [task.id for task in (await stage.leases.reclaim(OTHER_WORKER, ("a",), 9)).tasks] == [a.id]


async def test_a_requested_cancel_ends_a_lost_task(stage: Stage) -> None:
    task = await stage.running()
    with pytest.raises(CancelRequested):
        stage.commands.cancel(task.id, ACTOR)
    stage.lapse(task.id)
    reply = await stage.leases.reclaim(OTHER_WORKER, (), 5)
    assert reply == ClaimReply([], [Absorbed(task.id, "default", "cancelled")])
    assert stage.status(task.id) == "cancelled"


async def test_no_lost_task_of_a_paused_queue_starts(stage: Stage) -> None:
    task = await stage.running()
    stage.commands.pause("default", ACTOR)
    stage.lapse(task.id)
    assert (await stage.leases.reclaim(OTHER_WORKER, (), 5)).tasks == []
    stage.commands.resume("default", ACTOR)
    stage.lapse(task.id)
    assert len((await stage.leases.reclaim(OTHER_WORKER, (), 5)).tasks) == 1


async def test_a_lost_task_outlives_its_time_to_live(stage: Stage) -> None:
    task = await stage.running(ttl_ms=60_000)
    stage.outlive_ttl(task.id)
    stage.lapse(task.id)
    assert len((await stage.leases.reclaim(OTHER_WORKER, (), 5)).tasks) == 1


class TestRenew:
    async def test_a_lease_is_extended(self, stage: Stage, presence: Presence) -> None:
        task = await stage.running()
        stage.lapse(task.id)
        assert presence.renew(WORKER, [(task.id, 1)]).lost == []
        assert (await stage.leases.reclaim(OTHER_WORKER, (), 5)).tasks == []

    async def test_never_past_the_timeout_and_a_grace(self, stage: Stage, presence: Presence) -> None:
        task = await stage.running(timeout_ms=1000)
        started = int(stage.record(task.id)["started_at"])
        presence.renew(WORKER, [(task.id, 1)])
        assert stage.client.zscore(stage.keys.leases, task.id) == started + 1000 + 10_000
        stage.client.hset(stage.keys.task(task.id), "started_at", started - 60_000)
        presence.renew(WORKER, [(task.id, 1)])
        assert len((await stage.leases.reclaim(OTHER_WORKER, (), 5)).tasks) == 1

    async def test_a_vanished_lease_is_not_made_anew(self, stage: Stage, presence: Presence) -> None:
        task = await stage.running()
        await stage.finish(task, TaskStatus.SUCCEEDED)
        assert presence.renew(WORKER, [(task.id, 1)]).lost == [task.id]
        assert stage.client.zscore(stage.keys.leases, task.id) is None

    async def test_nothing_running_is_no_call(self, presence: Presence, stage: Stage) -> None:
        before = dump(stage.client)
        assert presence.renew(WORKER, []).lost == []
        assert dump(stage.client) == before

    async def test_a_thousand_at_once(self, stage: Stage, presence: Presence) -> None:
        running = [("0" * 31 + "1", 1)] * 2500
        assert len(presence.renew(WORKER, running).lost) == 2500
