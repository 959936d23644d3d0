"""Upkeep: what retention takes, what keeps live work alive, and what is repaired."""

from __future__ import annotations

import pytest

from tasks_app.domain.errors import IdempotencyInProgress
from tasks_app.domain.status import TaskStatus
from tasks_app.store.leases import Note
from tasks_app.store.presence import Heartbeat, Presence
from tasks_app.store.queries import Queries
from tests.support.builders import ACTOR, make_submission
from tests.support.keyspace import dump, pending
from tests.support.stage import HOUR_MS, OTHER_WORKER, TOKEN, WORKER, Stage

KEYED = "dtq:index:idempotency"
ENDED = [status for status in TaskStatus if status.is_terminal]


def retire(stage: Stage, *task_ids: str) -> None:
    """Let retention have run out for these tasks: their keys expire, their index members are due."""
    for task_id in task_ids:
        for key in (stage.keys.task(task_id), stage.keys.attempts(task_id), stage.keys.log(task_id)):
            stage.client.delete(key)
    for member in stage.client.zrange(stage.keys.retention, 0, -1):
        if any(task_id.encode() in member for task_id in task_ids):
            stage.client.zadd(stage.keys.retention, {member: 1})


class TestRetention:
    @pytest.mark.parametrize("status", ENDED)
    async def test_index_members_go_with_their_task(self, stage: Stage, queries: Queries, status: TaskStatus) -> None:
        task_id = await stage.task(status, idempotency_key="k")
        keeper = await stage.task(status)
        retire(stage, task_id)
        await stage.sweep()
        assert queries.counts()[status] == 1
        assert stage.status(keeper) == status
        left = {
            key for key, value in dump(stage.client, without=("dtq:stream:audit",)).items() if task_id in str(value)
        }
        assert left <= {stage.keys.idempotency("default", "k")}
        assert stage.submit(idempotency_key="k", task_type="noop")

    @pytest.mark.parametrize("status", ENDED)
    async def test_records_live_their_full_time(self, stage: Stage, status: TaskStatus) -> None:
        task = await stage.running() if status in {TaskStatus.SUCCEEDED, TaskStatus.FAILED} else None
        if task is not None:
            await stage.leases.note(WORKER, [Note(task.id, 1, 0.5, "half", ("a line",))])
            await stage.finish(task, status)
        task_id = task.id if task else await stage.task(status)
        full = stage.config.task_retention_s * 1000
        for key in (stage.keys.task(task_id), stage.keys.attempts(task_id), stage.keys.log(task_id)):
            if stage.client.exists(key):
                assert full - 60_000 < stage.client.pttl(key) <= full

    @pytest.mark.parametrize("status", [s for s in TaskStatus if not s.is_terminal])
    async def test_live_work_is_never_taken(self, stage: Stage, status: TaskStatus) -> None:
        task_id = await stage.task(status, idempotency_key="k")
        await stage.sweep()
        assert stage.status(task_id) == status
        assert stage.client.pttl(stage.keys.task(task_id)) == -1

    async def test_a_requeued_task_is_not_taken_by_its_first_end(self, stage: Stage, queries: Queries) -> None:
        task_id = await stage.task(TaskStatus.DEAD_LETTERED)
        first = stage.client.zrange(stage.keys.retention, 0, 0)[0]
        stage.commands.dlq_requeue(task_id, ACTOR)
        stage.client.zadd(stage.keys.retention, {first: 1})
        await stage.sweep()
        assert stage.status(task_id) == "queued"
        [task] = (await stage.claim()).tasks
        await stage.finish(task, TaskStatus.DEAD_LETTERED, error_message="again")
        stage.client.zadd(stage.keys.retention, {first: 1})
        await stage.sweep()
        assert queries.counts()[TaskStatus.DEAD_LETTERED] == 1
        assert [letter.task_id for letter in queries.dead_letters().items] == [task_id]

    async def test_ends_of_one_call_are_remembered_together_and_go_one_by_one(self, stage: Stage) -> None:
        tasks = [await stage.running() for _ in range(3)]
        for task in tasks:
            with pytest.raises(Exception, match="told to stop"):
                stage.commands.cancel(task.id, ACTOR)
            stage.lapse(task.id)
        await stage.leases.reclaim(OTHER_WORKER, (), 0)
        assert stage.client.zcard(stage.keys.retention) == 1
        retire(stage, *[task.id for task in tasks])
        await stage.sweep()
        assert stage.client.zcard(stage.keys.retention) == 0

    async def test_a_member_that_makes_no_sense_is_dropped(self, stage: Stage) -> None:
        stage.client.zadd(stage.keys.retention, {"nonsense": 1, "succeeded default": 1})
        await stage.sweep()
        assert stage.client.zcard(stage.keys.retention) == 0


class TestIdempotencyKeys:
    @pytest.mark.parametrize("status", [s for s in TaskStatus if not s.is_terminal])
    async def test_the_key_of_a_live_task_does_not_run_out(self, stage: Stage, status: TaskStatus) -> None:
        task_id = await stage.task(status, idempotency_key="k")
        name = stage.keys.idempotency("default", "k")
        stage.client.pexpire(name, 60_000)
        stage.client.zadd(KEYED, {task_id: stage.client.time()[0] * 1000 + 60_000})
        await stage.sweep()
        assert stage.client.pttl(name) > stage.config.idem_ttl_s * 1000 - 60_000
        with pytest.raises(IdempotencyInProgress):
            stage.submit(idempotency_key="k")

    @pytest.mark.parametrize("status", ENDED)
    async def test_the_key_of_an_ended_task_does(self, stage: Stage, status: TaskStatus) -> None:
        task_id = await stage.task(status, idempotency_key="k")
        name = stage.keys.idempotency("default", "k")
        stage.client.pexpire(name, 60_000)
        stage.client.zadd(KEYED, {task_id: 1})
        await stage.sweep()
        assert stage.client.pttl(name) <= 60_000
        assert stage.client.zscore(KEYED, task_id) is None


class TestNames:
    async def test_a_worker_without_a_heartbeat_is_forgotten(self, stage: Stage, presence: Presence) -> None:
        for worker in ("alive", "dead"):
            presence.heartbeat(beat(worker))
        stage.client.delete(stage.keys.worker("dead"))
        stage.client.zadd(stage.keys.workers, {"dead": 1})
        await stage.sweep()
        assert stage.client.zrange(stage.keys.workers, 0, -1) == [b"alive"]

    async def test_a_type_without_tasks_is_forgotten(self, stage: Stage, queries: Queries) -> None:
        task_id = await stage.task(TaskStatus.SUCCEEDED, task_type="once")
        await stage.running(task_type="runs")
        stage.submit(task_type="waits")
        retire(stage, task_id)
        await stage.sweep()
        assert queries.task_types() == ["runs", "waits"]

    async def test_ids_of_cancelled_tasks_are_forgotten(self, stage: Stage) -> None:
        for _ in range(3):
            await stage.task(TaskStatus.CANCELLED)
        assert stage.client.scard(stage.keys.cancelled) == 3
        assert 0 < stage.client.pttl(stage.keys.cancelled) <= stage.config.task_retention_s * 1000
        await stage.sweep()
        assert stage.client.scard(stage.keys.cancelled) == 0


class TestRepair:
    async def test_a_lost_stream_is_filled_again(self, stage: Stage) -> None:
        ids = [stage.submit(priority=p) for p in (1, 5, 9, 5)]
        for priority in (1, 5, 9):
            stage.client.delete(stage.keys.stream("default", priority))
        assert (await stage.claim()).tasks == []
        await stage.sweep()
        assert {task.id for task in (await stage.claim()).tasks} == set(ids)

    async def test_a_lost_entry_of_a_later_attempt_is_written_with_its_attempt(self, stage: Stage) -> None:
        task_id = await stage.task(TaskStatus.RETRYING)
        stage.commands.run_now(task_id, ACTOR)
        stage.client.delete(stage.keys.stream("default", 5))
        await stage.sweep()
        [task] = (await stage.claim()).tasks
        assert (task.id, task.attempt) == (task_id, 2)

    async def test_what_is_whole_is_left_alone(self, stage: Stage) -> None:
        for _ in range(3):
            stage.submit()
        await stage.running(queue="mail")
        await stage.sweep()
        before = dump(stage.client, without=("dtq:lock", "dtq:stats"))
        await stage.sweep()
        assert dump(stage.client, without=("dtq:lock", "dtq:stats")) == before

    async def test_a_forgotten_lane_is_made_ready(self, stage: Stage) -> None:
        task_id = stage.submit()
        stage.client.delete(stage.keys.ready)
        assert (await stage.claim()).tasks == []
        await stage.sweep()
        assert [task.id for task in (await stage.claim()).tasks] == [task_id]

    async def test_consumers_of_dead_workers_go_once_nothing_is_pending(self, stage: Stage, presence: Presence) -> None:
        for worker in (WORKER, OTHER_WORKER):
            presence.heartbeat(beat(worker))
        done = await stage.running(WORKER)
        await stage.finish(done, TaskStatus.SUCCEEDED)
        held = await stage.running(OTHER_WORKER)
        stage.client.delete(stage.keys.worker(WORKER), stage.keys.worker(OTHER_WORKER))
        await stage.sweep()
        stream = stage.keys.stream("default", 5)
        assert [c["name"].decode() for c in stage.client.xinfo_consumers(stream, "workers")] == [OTHER_WORKER]
        assert pending(stage.client, stream, "workers") == {stage.record(held.id)["entry"]: OTHER_WORKER}

    async def test_the_consumer_of_a_live_worker_stays(self, stage: Stage, presence: Presence) -> None:
        presence.heartbeat(beat(WORKER))
        await stage.finish(await stage.running(), TaskStatus.SUCCEEDED)
        await stage.sweep()
        assert len(stage.client.xinfo_consumers(stage.keys.stream("default", 5), "workers")) == 1

    async def test_an_entry_pending_on_nobodys_behalf_is_settled(self, stage: Stage) -> None:
        stream = stage.keys.stream("default", 5)
        await stage.finish(await stage.running(), TaskStatus.SUCCEEDED)
        for fields in ({"task_id": "0" * 32, "attempt": 1}, {"odd": "fields"}):
            stage.client.xadd(stream, fields)
        stage.client.xreadgroup("workers", "ghost", {stream: ">"})
        gone = stage.client.xadd(stream, {"task_id": "1" * 32, "attempt": 1})
        stage.client.xreadgroup("workers", "ghost", {stream: ">"})
        stage.client.xdel(stream, gone)
        await stage.sweep()
        assert stage.client.xlen(stream) == 0
        assert pending(stage.client, stream, "workers") == {}

    async def test_a_long_queue_is_looked_at_in_steps(self, stage: Stage) -> None:
        many = 1200
        for _ in range(2):
            stage.commands.submit_many([make_submission()] * (many // 2))
        stage.client.delete(stage.keys.stream("default", 5))
        await stage.lead()
        await stage.schedule.sweep(TOKEN)
        assert 0 < stage.client.xlen(stage.keys.stream("default", 5)) < many
        await stage.sweep()
        assert stage.client.xlen(stage.keys.stream("default", 5)) == many

    async def test_many_queues_are_looked_at_in_one_sweep(self, stage: Stage) -> None:
        names = [f"q{n}" for n in range(50)]
        stage.commands.submit_many([make_submission(queue=name) for name in names])
        for name in names:
            stage.client.delete(stage.keys.stream(name, 5))
        await stage.lead()
        await stage.schedule.sweep(TOKEN)
        assert [stage.client.xlen(stage.keys.stream(name, 5)) for name in names] == [1] * 50


def beat(worker: str, **changes: object) -> Heartbeat:
    fields: dict[str, object] = {
        "worker_id": worker,
        "host": "h",
        "pid": 7,
        "version": "1.2",
        "started_at_s": 1.5,
        "state": "ready",
        "concurrency": 10,
        "occupied": 0,
        "queues": (),
        "processed": 0,
        "failed": 0,
    }
    return Heartbeat(**{**fields, **changes})  # type: ignore[arg-type]


async def test_an_idle_sweep_says_so(stage: Stage) -> None:
    await stage.lead()
    assert await stage.schedule.sweep(TOKEN) is False
    stage.submit(delay_ms=HOUR_MS)
    assert await stage.schedule.sweep(TOKEN) is False
