"""Cancel: four answers, and what each leaves behind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tasks_app.domain.errors import CancelRequested, DtqError, NotFound, TaskFinished, ValidationError, WrongStatus
from tasks_app.domain.status import TaskStatus
from tasks_app.store.commands import MAX_BATCH
from tasks_app.store.presence import Presence
from tasks_app.store.queries import Queries
from tests.support.builders import ACTOR
from tests.support.keyspace import dump
from tests.support.stage import WORKER, Stage
from tests.support.until import until

WAITING = [TaskStatus.PENDING, TaskStatus.QUEUED, TaskStatus.RETRYING]


def test_unknown_is_not_found_and_the_attempt_is_in_the_audit(stage: Stage, queries: Queries) -> None:
    with pytest.raises(NotFound):
        stage.commands.cancel("0" * 32, ACTOR)
    assert set(dump(stage.client)) == {stage.keys.audit}
    assert [(e.action, e.task_id, e.detail) for e in queries.audit().items] == [("cancel", "0" * 32, "NOT_FOUND")]


@pytest.mark.parametrize("status", [s for s in TaskStatus if s.is_terminal])
async def test_ended_is_finished(stage: Stage, queries: Queries, status: TaskStatus) -> None:
    task_id = await stage.task(status, idempotency_key="k")
    before = dump(stage.client, without=("dtq:stream:audit",))
    with pytest.raises(TaskFinished) as told:
        stage.commands.cancel(task_id, ACTOR)
    assert told.value.details == {"task_id": task_id, "status": status}
    assert dump(stage.client, without=("dtq:stream:audit",)) == before
    assert queries.audit().items[0].detail == "TASK_FINISHED"


@pytest.mark.parametrize("status", WAITING)
async def test_waiting_ends_at_once(stage: Stage, queries: Queries, status: TaskStatus) -> None:
    task_id = await stage.task(status, idempotency_key="k")
    stage.commands.cancel(task_id, ACTOR)
    task = queries.task(task_id)
    assert task.status is TaskStatus.CANCELLED and task.finished_at is not None
    assert stage.client.sismember(stage.keys.cancelled, task_id)
    assert stage.client.zscore(stage.keys.schedule, task_id) is None
    assert stage.client.zscore(stage.keys.claimed, task_id) is None
    assert stage.entries() == []
    assert json.loads(stage.client.get(stage.keys.idempotency("default", "k")))["state"] == "failed"
    assert 0 < stage.client.pttl(stage.keys.task(task_id)) <= stage.config.task_retention_s * 1000
    [entry] = queries.audit().items
    assert (entry.actor, entry.action, entry.target, entry.task_id) == ("tester", "cancel", "task", task_id)
    assert (entry.source, entry.request_id, entry.detail) == ("test", "req-1", "OK")


async def test_a_claim_of_the_scheduler_is_taken_back(stage: Stage) -> None:
    task_id = await stage.task(TaskStatus.PENDING)
    stage.make_due(task_id)
    await stage.lead()
    due = await stage.schedule.claim_due("t1", 10)
    stage.commands.cancel(task_id, ACTOR)
    assert stage.client.zscore(stage.keys.claimed, task_id) is None
    assert await stage.schedule.requeue_claimed("t1", due.ids) == 0
    assert stage.status(task_id) == "cancelled"


async def test_no_worker_starts_what_was_cancelled(stage: Stage) -> None:
    ids = [stage.submit() for _ in range(5)]
    for task_id in ids[1:]:
        stage.commands.cancel(task_id, ACTOR)
    reply = await stage.claim()
    assert [task.id for task in reply.tasks] == ids[:1]


async def test_running_is_asked_to_stop(stage: Stage, queries: Queries) -> None:
    task = await stage.running(idempotency_key="k")
    before = dump(stage.client, without=("dtq:stream:audit", stage.keys.task(task.id)))
    for _ in range(2):
        with pytest.raises(CancelRequested) as told:
            stage.commands.cancel(task.id, ACTOR)
        assert told.value.details == {"task_id": task.id, "status": "running"}
    assert dump(stage.client, without=("dtq:stream:audit", stage.keys.task(task.id))) == before
    assert queries.task(task.id).cancel_requested
    assert stage.status(task.id) == "running"
    assert [entry.detail for entry in queries.audit().items] == ["CANCEL_REQUESTED"] * 2


async def test_its_worker_is_told_and_can_read_it_too(stage: Stage, presence: Presence) -> None:
    task = await stage.running()
    listener = stage.client.pubsub(ignore_subscribe_messages=True)
    listener.subscribe(stage.keys.control(WORKER))
    until(lambda: listener.get_message(timeout=0.1) is None)
    assert presence.renew(WORKER, [(task.id, 1)]).cancel == []
    with pytest.raises(CancelRequested):
        stage.commands.cancel(task.id, ACTOR)
    message: dict[str, Any] = until(lambda: listener.get_message(timeout=0.1), what="the message to the worker")
    assert json.loads(message["data"]) == {"cancel": task.id}
    assert presence.renew(WORKER, [(task.id, 1)]).cancel == [task.id]
    listener.close()


async def test_a_cancelled_run_keeps_its_last_attempt(stage: Stage, queries: Queries) -> None:
    task = await stage.running(idempotency_key="k")
    with pytest.raises(CancelRequested):
        stage.commands.cancel(task.id, ACTOR)
    await stage.finish(task, TaskStatus.CANCELLED)
    detail = queries.detail(task.id)
    assert [(a.number, a.outcome) for a in detail.attempts] == [(1, "cancelled")]
    assert json.loads(stage.client.get(stage.keys.idempotency("default", "k")))["state"] == "failed"


async def test_a_cancelled_wait_has_no_attempt_of_its_own(stage: Stage, queries: Queries) -> None:
    task_id = await stage.task(TaskStatus.RETRYING)
    stage.commands.cancel(task_id, ACTOR)
    assert [(a.number, a.outcome) for a in queries.detail(task_id).attempts] == [(1, "failed")]


async def test_many_are_answered_one_by_one(stage: Stage) -> None:
    waiting = stage.submit()
    running = (await stage.running(queue="mail")).id
    ended = await stage.task(TaskStatus.SUCCEEDED, queue="other")
    told = stage.commands.cancel_many([waiting, running, ended, "f" * 32], ACTOR)
    assert {task_id: error and error.code for task_id, error in told.items()} == {
        waiting: None,
        running: "CANCEL_REQUESTED",
        ended: "TASK_FINISHED",
        "f" * 32: "NOT_FOUND",
    }
    assert stage.commands.cancel_many([], ACTOR) == {}
    with pytest.raises(ValidationError):
        stage.commands.cancel_many(["x"] * (MAX_BATCH + 1), ACTOR)


class TestRunNow:
    @pytest.mark.parametrize(("status", "attempt"), [(TaskStatus.PENDING, 1), (TaskStatus.RETRYING, 2)])
    async def test_what_is_scheduled_goes_now(self, stage: Stage, status: TaskStatus, attempt: int) -> None:
        task_id = await stage.task(status)
        stage.commands.run_now(task_id, ACTOR)
        [task] = (await stage.claim()).tasks
        assert (task.id, task.attempt) == (task_id, attempt)
        record = stage.record(task_id)
        assert record["due_at"] == record["enqueued_at"]

    @pytest.mark.parametrize("status", [TaskStatus.PENDING, TaskStatus.RETRYING])
    async def test_what_has_expired_does_not(self, stage: Stage, status: TaskStatus) -> None:
        task_id = await stage.task(status, ttl_ms=60_000)
        stage.outlive_ttl(task_id)
        stage.commands.run_now(task_id, ACTOR)
        assert stage.status(task_id) == "expired"

    async def test_anything_else_is_refused(self, stage: Stage) -> None:
        with pytest.raises(NotFound):
            stage.commands.run_now("0" * 32, ACTOR)
        with pytest.raises(WrongStatus) as refused:
            stage.commands.run_now(stage.submit(), ACTOR)
        assert refused.value.details["allowed"] == ["pending", "retrying"]

    async def test_many_are_answered_one_by_one(self, stage: Stage) -> None:
        pending, queued = await stage.task(TaskStatus.PENDING), stage.submit()
        told: dict[str, DtqError | None] = stage.commands.run_now_many([pending, queued], ACTOR)
        assert told[pending] is None and isinstance(told[queued], WrongStatus)
