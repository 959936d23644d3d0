"""Requeue: a dead task comes back with a fresh budget and a fresh clock, and with its past."""

from __future__ import annotations

import json

import pytest

from tasks_app.domain.config import Config
from tasks_app.domain.errors import IdempotencyConflict, IdempotencyInProgress, NotFound, WrongStatus
from tasks_app.domain.status import TaskStatus
from tasks_app.store.queries import Queries
from tests.support.builders import ACTOR, make_config, make_submission
from tests.support.keyspace import dump
from tests.support.stage import Stage

DEAD = [TaskStatus.DEAD_LETTERED, TaskStatus.FAILED]


@pytest.mark.parametrize("status", DEAD)
async def test_it_starts_anew(stage: Stage, queries: Queries, status: TaskStatus) -> None:
    task_id = await stage.task(status, priority=9, metadata_json='{"who":"漢","big":9007199254740993}')
    stage.commands.dlq_requeue(task_id, ACTOR)
    task = queries.task(task_id)
    assert (task.status, task.attempt, task.requeues) == (TaskStatus.QUEUED, 1, 1)
    assert task.metadata_json == '{"who":"漢","big":9007199254740993,"previous_attempts":[1]}'
    assert (task.finished_at, task.started_at, task.worker_id, task.result_json) == (None, None, None, None)
    assert (task.error_class, task.error_message, task.traceback, task.fingerprint) == (None, None, None, None)
    assert stage.client.pttl(stage.keys.task(task_id)) == -1
    [(_, fields)] = stage.entries(priority=9)
    assert fields == {b"task_id": task_id.encode(), b"attempt": b"1"}
    assert queries.dead_letters().items == [] and queries.dead_letter_groups() == []
    assert [(e.action, e.task_id, e.actor) for e in queries.audit().items] == [("requeue", task_id, "tester")]


async def test_each_life_has_its_whole_budget_and_its_history_is_kept(stage: Stage, queries: Queries) -> None:
    task_id = stage.submit(max_attempts=2)
    for life in range(1, 4):
        for attempt in (1, 2):
            [task] = (await stage.claim()).tasks
            assert task.attempt == attempt
            end = TaskStatus.RETRYING if attempt == 1 else TaskStatus.DEAD_LETTERED
            await stage.finish(task, end, delay_ms=0, error_message=f"life {life}, attempt {attempt}")
            await stage.release()
        stage.commands.dlq_requeue(task_id, ACTOR)
    task_now = queries.detail(task_id)
    assert json.loads(task_now.task.metadata_json or "")["previous_attempts"] == [2, 2, 2]
    assert task_now.task.requeues == 3
    assert [a.error_message for a in task_now.attempts] == [
        f"life {life}, attempt {attempt}" for life in (1, 2, 3) for attempt in (1, 2)
    ]
    [task] = (await stage.claim()).tasks
    assert await stage.finish(task, TaskStatus.SUCCEEDED) == "succeeded"


@pytest.mark.parametrize(
    ("before", "after"), [("[5]", [5, 1]), ("null", [1]), ('"odd"', ["odd", 1]), ("7", [7, 1]), ("[]", [1])]
)
async def test_what_stood_in_previous_attempts_is_kept(
    stage: Stage, queries: Queries, before: str, after: list[object]
) -> None:
    task_id = await stage.task(TaskStatus.FAILED, metadata_json=f'{{"previous_attempts":{before}}}')
    stage.commands.dlq_requeue(task_id, ACTOR)
    assert json.loads(queries.task(task_id).metadata_json or "")["previous_attempts"] == after


async def test_the_time_to_live_starts_anew(stage: Stage, queries: Queries) -> None:
    metadata = '{"ttl_seconds":60}'
    task_id = await stage.task(TaskStatus.DEAD_LETTERED, metadata_json=metadata, ttl_ms=60_000)
    stage.outlive_ttl(task_id)
    stage.commands.dlq_requeue(task_id, ACTOR)
    task = queries.task(task_id)
    assert task.enqueued_at is not None and task.expires_at == task.enqueued_at + 60_000
    assert len((await stage.claim()).tasks) == 1


async def test_without_a_time_to_live_there_is_none(stage: Stage, queries: Queries) -> None:
    task_id = await stage.task(TaskStatus.DEAD_LETTERED)
    stage.commands.dlq_requeue(task_id, ACTOR)
    assert queries.task(task_id).expires_at is None


class TestKey:
    """The idempotency key of a task that comes back."""

    @pytest.mark.parametrize("status", DEAD)
    async def test_it_is_processing_again(self, stage: Stage, status: TaskStatus) -> None:
        task_id = await stage.task(status, idempotency_key="k")
        stage.commands.dlq_requeue(task_id, ACTOR)
        holder = json.loads(stage.client.get(stage.keys.idempotency("default", "k")))
        assert (holder["task_id"], holder["state"]) == (task_id, "processing")
        with pytest.raises(IdempotencyInProgress):
            stage.submit(idempotency_key="k")

    async def test_it_still_knows_its_submission(self, stage: Stage) -> None:
        task_id = await stage.task(TaskStatus.FAILED, idempotency_key="k", payload_json='{"a":1}')
        stage.commands.dlq_requeue(task_id, ACTOR)
        [task] = (await stage.claim()).tasks
        await stage.finish(task, TaskStatus.SUCCEEDED)
        again = stage.commands.submit(make_submission(idempotency_key="k", payload_json='{"a":1}'))
        assert again.duplicate and again.task.id == task_id

    async def test_it_is_taken_again_after_it_ran_out(self, stage: Stage) -> None:
        task_id = await stage.task(TaskStatus.FAILED, idempotency_key="k", payload_json='{"a":1}')
        stage.client.delete(stage.keys.idempotency("default", "k"))
        stage.commands.dlq_requeue(task_id, ACTOR)
        with pytest.raises(IdempotencyInProgress) as told:
            stage.submit(idempotency_key="k", payload_json='{"a":1}')
        assert told.value.details == {"task_id": task_id}

    @pytest.mark.parametrize("status", [s for s in TaskStatus if not s.is_terminal])
    async def test_never_two_live_tasks_for_one_key(self, stage: Stage, status: TaskStatus) -> None:
        dead = await stage.task(TaskStatus.DEAD_LETTERED, idempotency_key="k")
        stage.client.delete(stage.keys.idempotency("default", "k"))
        live = await stage.task(status, idempotency_key="k")
        before = dump(stage.client)
        with pytest.raises(IdempotencyConflict) as refused:
            stage.commands.dlq_requeue(dead, ACTOR)
        assert refused.value.details == {"task_id": dead, "holder": live}
        assert dump(stage.client) == before

    async def test_a_key_whose_other_task_has_ended_is_free(self, stage: Stage) -> None:
        dead = await stage.task(TaskStatus.DEAD_LETTERED, idempotency_key="k")
        stage.client.delete(stage.keys.idempotency("default", "k"))
        await stage.task(TaskStatus.CANCELLED, idempotency_key="k")
        stage.commands.dlq_requeue(dead, ACTOR)
        assert json.loads(stage.client.get(stage.keys.idempotency("default", "k")))["task_id"] == dead


class TestRefusals:
    async def test_unknown(self, stage: Stage) -> None:
        with pytest.raises(NotFound):
            stage.commands.dlq_requeue("0" * 32, ACTOR)

    @pytest.mark.parametrize("status", [s for s in TaskStatus if s not in DEAD])
    async def test_another_status(self, stage: Stage, status: TaskStatus) -> None:
        task_id = await stage.task(status)
        before = dump(stage.client)
        with pytest.raises(WrongStatus) as refused:
            stage.commands.dlq_requeue(task_id, ACTOR)
        assert refused.value.details == {"task_id": task_id, "status": status, "allowed": ["dead_lettered", "failed"]}
        assert dump(stage.client) == before

    async def test_a_record_that_changes_in_between_is_read_again(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        task_id = await stage.task(TaskStatus.FAILED)
        queries = Queries(stage.client, stage.config)
        stale = queries.task(task_id)
        answers = iter([stale])
        stage.commands.dlq_requeue(task_id, ACTOR)
        [task] = (await stage.claim()).tasks
        await stage.finish(task, TaskStatus.FAILED)
        read = queries.with_metadata
        monkeypatch.setattr(
            stage.commands,
            "_queries",
            type("Q", (), {"with_metadata": lambda _, ids: [next(answers, None) or read([i])[0] for i in ids]})(),
        )
        stage.commands.dlq_requeue(task_id, ACTOR)
        assert json.loads(queries.task(task_id).metadata_json or "")["previous_attempts"] == [1, 1]

    async def test_a_record_that_never_holds_still_is_refused(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        task_id = await stage.task(TaskStatus.FAILED)
        stale = Queries(stage.client, stage.config).task(task_id)
        stage.commands.dlq_requeue(task_id, ACTOR)
        [task] = (await stage.claim()).tasks
        await stage.finish(task, TaskStatus.FAILED)
        monkeypatch.setattr(stage.commands, "_queries", type("Q", (), {"with_metadata": lambda *_: [stale]})())
        with pytest.raises(WrongStatus, match="changing"):
            stage.commands.dlq_requeue(task_id, ACTOR)


async def test_many_are_answered_one_by_one(stage: Stage) -> None:
    dead = await stage.task(TaskStatus.DEAD_LETTERED)
    live = stage.submit()
    told = stage.commands.requeue_many([dead, live, "0" * 32], ACTOR)
    assert {task_id: error and error.code for task_id, error in told.items()} == {
        dead: None,
        live: "WRONG_STATUS",
        "0" * 32: "NOT_FOUND",
    }


class TestTrimmedLetters:
    @pytest.fixture
    def config(self) -> Config:
        return make_config(dlq_maxlen=1)

    async def test_a_task_whose_letter_was_trimmed_can_still_come_back(
        self, stage: Stage, damaged: set[str], queries: Queries
    ) -> None:
        dead = [await stage.task(TaskStatus.DEAD_LETTERED) for _ in range(3)]
        stage.client.xtrim(stage.keys.dead_letters, maxlen=0, approximate=False)
        assert queries.dead_letters().items == []
        for task_id in dead:
            stage.commands.dlq_requeue(task_id, ACTOR)
            assert stage.status(task_id) == "queued"
