"""Claim: order, limits, pauses, and the entries that must not run."""

from __future__ import annotations

import pytest

from tasks_app.domain.config import Config
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.submission import Submission
from tasks_app.store.commands import Receipt
from tasks_app.store.leases import Absorbed, Claimed, ClaimReply
from tests.support.builders import ACTOR, make_submission
from tests.support.keyspace import COUNTS, dump, pending
from tests.support.stage import OTHER_WORKER, WORKER, Stage


def ids(reply: ClaimReply) -> list[str]:
    return [task.id for task in reply.tasks]


def bulk(stage: Stage, *items: Submission) -> list[str]:
    return [reply.task.id for reply in stage.commands.submit_many(items) if isinstance(reply, Receipt)]


async def test_a_claimed_task_runs_under_a_lease(stage: Stage) -> None:
    task_id = stage.submit(payload_json='{"n":1}', metadata_json='{"m":2}', priority=3, timeout_ms=777)
    reply = await stage.claim()
    assert reply.absorbed == []
    assert reply.tasks == [Claimed(task_id, 1, 3, "echo", "default", 3, 777, '{"n":1}', '{"m":2}')]
    record = stage.record(task_id)
    assert (record["status"], record["worker_id"]) == ("running", WORKER)
    started = int(record["started_at"])
    assert stage.client.zscore(stage.keys.leases, task_id) == started + stage.config.lease_ms
    assert pending(stage.client, stage.keys.stream("default", 3), "workers") == {record["entry"]: WORKER}


async def test_nothing_waits_nothing_comes(stage: Stage) -> None:
    assert await stage.claim() == ClaimReply([], [])
    assert await stage.claim(queues=("mail",)) == ClaimReply([], [])


async def test_only_one_claimant_wins(stage: Stage) -> None:
    task_id = stage.submit()
    assert ids(await stage.claim(WORKER)) == [task_id]
    assert ids(await stage.claim(OTHER_WORKER)) == []


async def test_high_priority_first_then_by_birth(stage: Stage) -> None:
    born = bulk(stage, *[make_submission(priority=p) for p in (0, 9, 5, 9, 0, 5)])
    assert ids(await stage.claim()) == [born[i] for i in (1, 3, 2, 5, 0, 4)]


async def test_queues_are_served_in_the_order_given(stage: Stage) -> None:
    low = stage.submit(queue="b", priority=0)
    high = stage.submit(queue="a", priority=9)
    assert ids(await stage.claim(queues=("b", "a"))) == [low, high]


async def test_other_queues_are_left_alone(stage: Stage) -> None:
    stage.submit(queue="a")
    mine = stage.submit(queue="b")
    assert ids(await stage.claim(queues=("b",))) == [mine]


async def test_without_an_order_no_queue_starves(stage: Stage) -> None:
    for queue in "abc":
        bulk(stage, *[make_submission(queue=queue)] * 3)
    served = [task.queue for _ in range(9) for task in (await stage.claim(limit=1)).tasks]
    assert sorted(served[:3]) == sorted(served[3:6]) == sorted(served[6:]) == ["a", "b", "c"]


@pytest.mark.parametrize("limit", [0, 1, 4, 5, 6])
async def test_never_more_than_asked_for(stage: Stage, limit: int) -> None:
    born = bulk(stage, *[make_submission(priority=p % 3) for p in range(5)])
    first = ids(await stage.claim(limit=limit))
    assert len(first) == min(limit, 5)
    assert sorted(first + ids(await stage.claim(OTHER_WORKER))) == born


async def test_a_full_worker_rings_for_the_next(stage: Stage) -> None:
    bulk(stage, *[make_submission()] * 3)
    stage.client.delete(stage.keys.wake("default"))
    await stage.claim(limit=2)
    assert stage.client.llen(stage.keys.wake("default")) == 1


async def test_a_drained_lane_rings_for_nobody(stage: Stage) -> None:
    bulk(stage, *[make_submission()] * 3)
    stage.client.delete(stage.keys.wake("default"))
    await stage.claim(limit=4)
    assert stage.client.llen(stage.keys.wake("default")) == 0
    assert stage.client.smembers(stage.keys.ready) == set()


async def test_many_at_once(stage: Stage) -> None:
    born = bulk(stage, *[make_submission(task_type=f"t{i % 5}", queue=f"q{i % 3}") for i in range(1000)])
    bulk(stage, *[make_submission(queue="q0")] * 1000)
    claimed = [task_id for _ in range(20) for task_id in ids(await stage.claim(limit=1000))]
    assert len(set(claimed)) == len(claimed) == 2000
    assert set(born) <= set(claimed)


class TestPause:
    async def test_no_task_of_a_paused_queue_starts(self, stage: Stage) -> None:
        task_id = stage.submit()
        stage.commands.pause("default", ACTOR, "deploy")
        other = stage.submit(queue="mail")
        assert ids(await stage.claim()) == [other]
        assert ids(await stage.claim(queues=("default",))) == []
        stage.commands.resume("default", ACTOR)
        assert ids(await stage.claim()) == [task_id]

    async def test_a_paused_queue_still_accepts(self, stage: Stage) -> None:
        stage.submit()
        stage.commands.pause("default", ACTOR)
        stage.submit()
        assert ids(await stage.claim()) == []
        stage.commands.resume("default", ACTOR)
        assert len(ids(await stage.claim())) == 2

    async def test_a_pause_may_end_by_itself(self, stage: Stage) -> None:
        stage.submit()
        stage.commands.pause("default", ACTOR, until=1)
        assert len(ids(await stage.claim())) == 1


class TestExpiry:
    @pytest.mark.parametrize("attempt", [1, 2])
    async def test_an_expired_task_does_not_start(self, stage: Stage, attempt: int) -> None:
        task_id = await stage.task(TaskStatus.RETRYING if attempt == 2 else TaskStatus.QUEUED, ttl_ms=60_000)
        if attempt == 2:
            stage.commands.run_now(task_id, ACTOR)
        stage.outlive_ttl(task_id)
        reply = await stage.claim()
        assert reply == ClaimReply([], [Absorbed(task_id, "default", "expired")])
        assert stage.status(task_id) == "expired"

    async def test_a_task_in_time_starts(self, stage: Stage) -> None:
        task_id = stage.submit(ttl_ms=60_000)
        assert ids(await stage.claim()) == [task_id]

    async def test_a_running_task_outlives_its_time(self, stage: Stage) -> None:
        task = await stage.running(ttl_ms=60_000)
        stage.outlive_ttl(task.id)
        assert await stage.finish(task, TaskStatus.SUCCEEDED) == "succeeded"


class TestAbsorption:
    """Entries that are found in a stream and must not run: acknowledged, deleted, told; nothing else changes."""

    def plant(self, stage: Stage, fields: dict[str, str | int]) -> None:
        stage.client.xadd(stage.keys.stream("default", 5), fields)
        stage.client.sadd(stage.keys.ready, "default:p5")

    async def absorbed(self, stage: Stage, fields: dict[str, str | int]) -> list[Absorbed]:
        self.plant(stage, fields)
        noise = ("dtq:stream:default", "dtq:ready", "dtq:cancelled", *COUNTS)
        before = dump(stage.client, without=noise)
        reply = await stage.claim(OTHER_WORKER)
        assert reply.tasks == []
        assert dump(stage.client, without=noise) == before
        assert pending(stage.client, stage.keys.stream("default", 5), "workers").keys() <= {
            record["entry"] for record in map(stage.record, map(bytes.decode, stage.client.zrange("dtq:leases", 0, -1)))
        }
        return reply.absorbed

    async def test_no_record(self, stage: Stage) -> None:
        told = await self.absorbed(stage, {"task_id": "0" * 32, "attempt": 1})
        assert told == [Absorbed("0" * 32, "default", "missing")]

    @pytest.mark.parametrize("fields", [{"a": "b"}, {"attempt": 1, "task_id": "x"}, {"task_id": ""}])
    async def test_no_sense(self, stage: Stage, fields: dict[str, str | int]) -> None:
        [told] = await self.absorbed(stage, fields)
        assert told.reason in {"malformed", "missing"}

    @pytest.mark.parametrize(
        ("status", "reason"),
        [
            (TaskStatus.PENDING, "pending"),
            (TaskStatus.RUNNING, "duplicate"),
            *((s, str(s)) for s in (TaskStatus.RETRYING, TaskStatus.CANCELLED, TaskStatus.SUCCEEDED)),
            *((s, str(s)) for s in (TaskStatus.FAILED, TaskStatus.DEAD_LETTERED, TaskStatus.EXPIRED)),
        ],
    )
    async def test_another_status(self, stage: Stage, status: TaskStatus, reason: str) -> None:
        task_id = await stage.task(status)
        told = await self.absorbed(stage, {"task_id": task_id, "attempt": 1})
        assert told == [Absorbed(task_id, "default", reason)]

    async def test_a_second_entry_of_a_waiting_task(self, stage: Stage) -> None:
        task_id = stage.submit()
        self.plant(stage, {"task_id": task_id, "attempt": 1})
        reply = await stage.claim()
        assert ids(reply) == [task_id]
        assert reply.absorbed == [Absorbed(task_id, "default", "duplicate")]

    async def test_a_stale_attempt(self, stage: Stage) -> None:
        task_id = await stage.task(TaskStatus.RETRYING)
        self.plant(stage, {"task_id": task_id, "attempt": 1})
        stage.commands.run_now(task_id, ACTOR)
        reply = await stage.claim()
        assert [(task.id, task.attempt) for task in reply.tasks] == [(task_id, 2)]
        assert reply.absorbed == [Absorbed(task_id, "default", "duplicate")]

    async def test_its_own_entry_with_another_attempt_until_the_sweep_writes_it_anew(self, stage: Stage) -> None:
        task_id = stage.submit()
        stage.client.hset(stage.keys.task(task_id), "attempt", 2)
        assert await stage.claim() == ClaimReply([], [Absorbed(task_id, "default", "duplicate")])
        await stage.sweep()
        assert [(task.id, task.attempt) for task in (await stage.claim()).tasks] == [(task_id, 2)]

    async def test_absorbing_a_cancelled_one_forgets_the_reminder(self, stage: Stage) -> None:
        task_id = await stage.task(TaskStatus.CANCELLED)
        assert stage.client.sismember(stage.keys.cancelled, task_id)
        await self.absorbed(stage, {"task_id": task_id, "attempt": 1})
        assert not stage.client.sismember(stage.keys.cancelled, task_id)

    async def test_absorbing_is_bounded_too(self, stage: Stage) -> None:
        for i in range(1200):
            self.plant(stage, {"task_id": f"{i:032x}", "attempt": 1})
        real = stage.submit()
        found = [await stage.claim(limit=10) for _ in range(3)]
        assert all(len(reply.absorbed) <= 510 for reply in found)
        assert [task_id for reply in found for task_id in ids(reply)] == [real]


async def test_the_error_of_the_attempt_before_is_cleared(stage: Stage) -> None:
    task_id = await stage.task(TaskStatus.RETRYING)
    assert stage.record(task_id)["error_class"] == "ValueError"
    stage.commands.run_now(task_id, ACTOR)
    await stage.claim()
    assert {"error_class", "error_message", "traceback"}.isdisjoint(stage.record(task_id))


async def test_the_progress_of_the_attempt_before_is_cleared(stage: Stage) -> None:
    task = await stage.running()
    stage.client.hset(stage.keys.task(task.id), mapping={"progress": 0.9, "progress_note": "almost"})
    await stage.finish(task, TaskStatus.RETRYING)
    stage.commands.run_now(task.id, ACTOR)
    await stage.claim()
    assert {"progress", "progress_note"}.isdisjoint(stage.record(task.id))


def test_the_lease_is_the_visibility_timeout(config: Config) -> None:
    assert config.lease_ms == config.visibility_timeout_s * 1000
