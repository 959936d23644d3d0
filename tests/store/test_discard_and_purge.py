"""Discard and purge: what operators remove for good, in bounded steps."""

from __future__ import annotations

import pytest

from tasks_app.domain.errors import NotFound, WrongStatus
from tasks_app.domain.status import TaskStatus
from tasks_app.store.commands import MAX_BATCH, Purged
from tasks_app.store.leases import Note
from tasks_app.store.queries import Queries
from tests.support.builders import ACTOR, make_submission
from tests.support.keyspace import dump
from tests.support.stage import WORKER, Stage

DEAD = [TaskStatus.DEAD_LETTERED, TaskStatus.FAILED]


class TestDiscard:
    @pytest.mark.parametrize("status", DEAD)
    async def test_nothing_of_the_task_is_left(self, stage: Stage, queries: Queries, status: TaskStatus) -> None:
        task = await stage.running(idempotency_key="k")
        await stage.leases.note(WORKER, [Note(task.id, 1, 0.5, "half", ("a line",))])
        await stage.finish(task, status)
        stage.commands.discard(task.id, ACTOR)
        with pytest.raises(NotFound):
            queries.task(task.id)
        left = {key for key in dump(stage.client) if task.id in key or "idempotency" in key}
        assert left == set()
        assert queries.dead_letters().items == [] and queries.dead_letter_groups() == []
        assert queries.counts()[status] == 0
        assert [(e.action, e.task_id) for e in queries.audit().items] == [("discard", task.id)]
        assert stage.submit(idempotency_key="k", payload_json='{"other":1}')

    async def test_a_key_that_now_belongs_to_another_task_stays(self, stage: Stage) -> None:
        dead = await stage.task(TaskStatus.FAILED, idempotency_key="k")
        stage.client.delete(stage.keys.idempotency("default", "k"))
        stage.submit(idempotency_key="k")
        stage.commands.discard(dead, ACTOR)
        assert stage.client.exists(stage.keys.idempotency("default", "k"))

    async def test_refusals(self, stage: Stage) -> None:
        with pytest.raises(NotFound):
            stage.commands.discard("0" * 32, ACTOR)
        for status in set(TaskStatus) - set(DEAD):
            task_id = await stage.task(status)
            with pytest.raises(WrongStatus) as refused:
                stage.commands.discard(task_id, ACTOR)
            assert refused.value.details["status"] == status

    async def test_many_are_answered_one_by_one(self, stage: Stage) -> None:
        dead = [await stage.task(TaskStatus.DEAD_LETTERED) for _ in range(3)]
        told = stage.commands.discard_many([*dead, "0" * 32], ACTOR)
        assert [error and error.code for error in told.values()] == [None, None, None, "NOT_FOUND"]

    async def test_what_retention_remembers_does_no_harm(self, stage: Stage) -> None:
        task_id = await stage.task(TaskStatus.DEAD_LETTERED)
        stage.commands.discard(task_id, ACTOR)
        other = await stage.task(TaskStatus.DEAD_LETTERED)
        for member in stage.client.zrange(stage.keys.retention, 0, 0):
            stage.client.zadd(stage.keys.retention, {member: 1})
        await stage.sweep()
        assert stage.status(other) == "dead_lettered"


class TestPurgeQueue:
    async def test_waiting_tasks_are_cancelled_and_nothing_else(self, stage: Stage, queries: Queries) -> None:
        waiting = [await stage.task(s) for s in (TaskStatus.RETRYING, TaskStatus.PENDING)]
        running = await stage.running()
        ended = await stage.task(TaskStatus.SUCCEEDED)
        waiting.append(stage.submit(idempotency_key="k"))
        elsewhere = stage.submit(queue="mail")
        assert stage.commands.purge_queue("default", ACTOR) == Purged(done=3, remaining=0)
        assert {stage.status(task_id) for task_id in waiting} == {"cancelled"}
        assert [stage.status(i) for i in (running.id, ended, elsewhere)] == ["running", "succeeded", "queued"]
        [entry] = queries.audit().items
        assert (entry.action, entry.target, entry.detail) == ("purge", "queue:default", "3")

    def test_an_empty_queue_is_purged_already(self, stage: Stage) -> None:
        stage.submit()
        stage.commands.purge_queue("default", ACTOR)
        assert stage.commands.purge_queue("default", ACTOR) == Purged(0, 0)

    def test_an_unknown_queue_is_not_found(self, stage: Stage) -> None:
        with pytest.raises(NotFound):
            stage.commands.purge_queue("nowhere", ACTOR)

    def test_a_large_queue_takes_several_steps(self, stage: Stage) -> None:
        total = MAX_BATCH + 20
        for start in range(0, total, 500):
            stage.commands.submit_many([make_submission(delay_ms=start)] * min(500, total - start))
        assert stage.commands.purge_queue("default", ACTOR) == Purged(MAX_BATCH, 20)
        assert stage.commands.purge_queue("default", ACTOR) == Purged(20, 0)

    async def test_members_without_a_record_are_told_as_remaining_until_the_sweep(self, stage: Stage) -> None:
        stage.submit()
        stage.client.delete(stage.keys.task(stage.submit()))
        steps = [stage.commands.purge_queue("default", ACTOR) for _ in range(2)]
        assert steps == [Purged(1, 1), Purged(0, 1)]
        await stage.claim()
        await stage.sweep()
        assert stage.commands.purge_queue("default", ACTOR) == Purged(0, 0)


class TestPurgeDeadLetters:
    async def test_all_go_in_steps(self, stage: Stage, queries: Queries) -> None:
        dead = [await stage.task(TaskStatus.DEAD_LETTERED) for _ in range(5)]
        failed = await stage.task(TaskStatus.FAILED)
        assert stage.commands.purge_dlq(ACTOR) == Purged(5, 0)
        assert stage.commands.purge_dlq(ACTOR) == Purged(0, 0)
        assert [stage.status(task_id) for task_id in dead] == [None] * 5
        assert stage.status(failed) == "failed"
        assert queries.dead_letters().items == []
        [entry] = queries.audit().items
        assert (entry.action, entry.target, entry.detail) == ("purge", "dlq", "5")
