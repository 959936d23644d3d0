"""Finish: what each end writes, and the fence that keeps out who no longer owns the attempt."""

from __future__ import annotations

import pytest

from tasks_app.domain.config import Config
from tasks_app.domain.status import TaskStatus
from tasks_app.store.leases import LEASE_LOST, Finish, Note
from tasks_app.store.presence import Presence
from tasks_app.store.queries import Queries
from tests.support.builders import ACTOR, make_config
from tests.support.keyspace import COUNTS, dump
from tests.support.stage import OTHER_WORKER, WORKER, Stage
from tests.support.until import until


async def test_success_stores_the_result(stage: Stage, queries: Queries) -> None:
    task = await stage.running()
    assert await stage.finish(task, TaskStatus.SUCCEEDED, result_json='{"n":[]}') == "succeeded"
    detail = queries.detail(task.id)
    assert (detail.task.status, detail.task.result_json) == (TaskStatus.SUCCEEDED, '{"n":[]}')
    assert detail.task.finished_at is not None and detail.task.started_at is not None
    assert detail.task.finished_at >= detail.task.started_at
    [attempt] = detail.attempts
    assert (attempt.number, attempt.outcome, attempt.worker_id) == (1, "succeeded", WORKER)


async def test_a_retry_waits_in_the_schedule(stage: Stage, queries: Queries) -> None:
    task = await stage.running()
    assert await stage.finish(task, TaskStatus.RETRYING, delay_ms=5000, error_message="no: 漢") == "retrying"
    detail = queries.detail(task.id)
    assert (detail.task.status, detail.task.attempt) == (TaskStatus.RETRYING, 1)
    assert (detail.task.error_class, detail.task.error_message) == ("ValueError", "no: 漢")
    [attempt] = detail.attempts
    assert (attempt.number, attempt.outcome, attempt.error_message) == (1, "failed", "no: 漢")
    assert detail.task.due_at == attempt.ended_at + 5000  # type: ignore[operator]
    assert stage.client.zscore(stage.keys.schedule, task.id) == detail.task.due_at


async def test_each_attempt_knows_since_when_it_waited(stage: Stage, queries: Queries) -> None:
    task = await stage.running()
    first = queries.task(task.id).enqueued_at or 0

    def later() -> bool:
        seconds, micros = stage.client.time()
        return bool(seconds * 1000 + micros // 1000 > first)

    await stage.finish(task, TaskStatus.RETRYING, delay_ms=60_000)
    until(later, what="another millisecond")
    stage.commands.run_now(task.id, ACTOR)
    await stage.claim()
    waited = [attempt.queued_at or 0 for attempt in queries.detail(task.id).attempts]
    assert waited == [first, queries.task(task.id).enqueued_at]
    assert waited[1] > first


async def test_a_dead_letter_tells_its_story(stage: Stage, queries: Queries) -> None:
    task = await stage.running(queue="mail")
    await stage.finish(task, TaskStatus.DEAD_LETTERED, error_message="order 17 is gone", traceback="Trace\n  line")
    record = queries.task(task.id)
    [letter] = queries.dead_letters().items
    assert (letter.task_id, letter.task_type, letter.queue, letter.attempts) == (task.id, "echo", "mail", 1)
    assert (letter.error_class, letter.error_message, letter.worker_id) == ("ValueError", "order 17 is gone", WORKER)
    assert letter.failed_at == record.finished_at
    assert letter.fingerprint == record.fingerprint
    assert record.traceback == "Trace\n  line"


async def test_failed_leaves_no_dead_letter(stage: Stage, queries: Queries) -> None:
    task_id = await stage.task(TaskStatus.FAILED)
    assert queries.task(task_id).error_class == "ValueError"
    assert queries.dead_letters().items == []


class TestDeadLettersOff:
    @pytest.fixture
    def config(self) -> Config:
        return make_config(dlq_enabled=False)

    async def test_dead_lettered_becomes_failed(self, stage: Stage, queries: Queries) -> None:
        task = await stage.running()
        assert await stage.finish(task, TaskStatus.DEAD_LETTERED) == "failed"
        assert queries.dead_letters().items == []


async def test_causes_are_told_apart_by_type_error_and_message_without_its_numbers(
    stage: Stage, queries: Queries
) -> None:
    async def bury(task_type: str, error_class: str, message: str) -> None:
        task = await stage.running(task_type=task_type)
        fields = {"error_class": error_class, "error_message": message}
        assert await stage.finish(task, TaskStatus.DEAD_LETTERED, **fields) == "dead_lettered"

    for message in ("order 17 at 0x7f3a is gone", "order 18 at 0x81bc is gone"):
        await bury("echo", "KeyError", message)
    await bury("echo", "ValueError", "order 17 at 0x7f3a is gone")
    await bury("noop", "KeyError", "order 17 at 0x7f3a is gone")
    await bury("echo", "KeyError", "customer 17 is gone")
    groups = queries.dead_letter_groups()
    assert sorted(group.count for group in groups) == [1, 1, 1, 2]
    [pair] = [group for group in groups if group.count == 2]
    assert (pair.task_type, pair.error_class, pair.error_message) == ("echo", "KeyError", "order 18 at 0x81bc is gone")
    assert pair.first_seen <= pair.last_seen
    assert {letter.task_type for letter in queries.dead_letters(fingerprint=pair.fingerprint).items} == {"echo"}
    assert len(queries.dead_letters(fingerprint=pair.fingerprint).items) == 2


@pytest.mark.parametrize("status", [TaskStatus.SUCCEEDED, TaskStatus.RETRYING, TaskStatus.DEAD_LETTERED])
async def test_a_requested_cancel_beats_the_verdict(stage: Stage, status: TaskStatus) -> None:
    task = await stage.running()
    with pytest.raises(Exception, match="told to stop"):
        stage.commands.cancel(task.id, ACTOR)
    assert await stage.finish(task, status, result_json="1") == "cancelled"
    assert "result" not in stage.record(task.id)


async def test_an_end_before_the_cancel_counts(stage: Stage) -> None:
    task = await stage.running()
    await stage.finish(task, TaskStatus.SUCCEEDED)
    with pytest.raises(Exception, match="has ended"):
        stage.commands.cancel(task.id, ACTOR)
    assert stage.status(task.id) == "succeeded"


async def test_a_batch_is_answered_item_by_item(stage: Stage) -> None:
    ok, retry, dead, other = [await stage.running() for _ in range(4)]
    batch = [
        Finish(ok.id, 1, TaskStatus.SUCCEEDED, "succeeded", result_json="1"),
        Finish("0" * 32, 1, TaskStatus.SUCCEEDED, "succeeded"),
        Finish(retry.id, 1, TaskStatus.RETRYING, "timed_out", delay_ms=0),
        Finish(dead.id, 1, TaskStatus.DEAD_LETTERED, "failed", error_class="E"),
        Finish(ok.id, 1, TaskStatus.DEAD_LETTERED, "failed", error_class="E"),
        Finish(other.id, 1, TaskStatus.QUEUED, "failed"),
    ]
    assert await stage.leases.finish(WORKER, batch) == [
        "succeeded",
        LEASE_LOST,
        "retrying",
        "dead_lettered",
        LEASE_LOST,
        "INVALID_TRANSITION",
    ]
    assert stage.status(other.id) == "running"


async def test_an_empty_batch_is_no_call(stage: Stage) -> None:
    before = dump(stage.client)
    assert await stage.leases.finish(WORKER, []) == []
    assert dump(stage.client) == before


class TestFence:
    """A zombie that wakes up late changes nothing; that it came is counted."""

    @pytest.mark.parametrize("status", [TaskStatus.SUCCEEDED, TaskStatus.RETRYING, TaskStatus.DEAD_LETTERED])
    async def test_after_another_worker_took_over(self, stage: Stage, status: TaskStatus) -> None:
        zombie = await stage.running()
        stage.lapse(zombie.id)
        [owner] = (await stage.leases.reclaim(OTHER_WORKER, (), 5)).tasks
        before = dump(stage.client, without=COUNTS)
        assert await stage.finish(zombie, status) == LEASE_LOST
        assert await stage.leases.give_back(WORKER, [(zombie.id, zombie.attempt)]) == 0
        await stage.leases.note(WORKER, [Note(zombie.id, zombie.attempt, 0.5, "late", ("late",))])
        assert Presence(stage.client, stage.config).renew(WORKER, [(zombie.id, 1)]).lost == [zombie.id]
        assert dump(stage.client, without=COUNTS) == before
        assert await stage.finish(owner, TaskStatus.SUCCEEDED, OTHER_WORKER) == "succeeded"

    async def test_after_the_same_worker_took_over_its_own_attempt(self, stage: Stage) -> None:
        zombie = await stage.running()
        stage.lapse(zombie.id)
        [again] = (await stage.leases.reclaim(WORKER, (), 5)).tasks
        assert again.attempt == 2
        before = dump(stage.client, without=COUNTS)
        assert await stage.finish(zombie, TaskStatus.SUCCEEDED) == LEASE_LOST
        assert dump(stage.client, without=COUNTS) == before
        assert await stage.finish(again, TaskStatus.SUCCEEDED) == "succeeded"

    async def test_after_it_was_finished(self, stage: Stage) -> None:
        task = await stage.running()
        await stage.finish(task, TaskStatus.SUCCEEDED)
        before = dump(stage.client, without=COUNTS)
        assert await stage.finish(task, TaskStatus.DEAD_LETTERED) == LEASE_LOST
        assert dump(stage.client, without=COUNTS) == before

    async def test_after_requeue_the_first_attempt_of_the_new_life_is_not_the_old_one(self, stage: Stage) -> None:
        zombie = await stage.running(max_attempts=1)
        stage.lapse(zombie.id)
        await stage.leases.reclaim(OTHER_WORKER, (), 0)
        stage.commands.dlq_requeue(zombie.id, ACTOR)
        before = dump(stage.client, without=COUNTS)
        assert await stage.finish(zombie, TaskStatus.SUCCEEDED) == LEASE_LOST
        assert dump(stage.client, without=COUNTS) == before

    async def test_after_it_was_given_back_and_taken(self, stage: Stage) -> None:
        task = await stage.running()
        assert await stage.leases.give_back(WORKER, [(task.id, 1)]) == 1
        [owner] = (await stage.leases.reclaim(OTHER_WORKER, (), 1)).tasks
        assert owner.attempt == 1
        before = dump(stage.client, without=COUNTS)
        assert await stage.finish(task, TaskStatus.SUCCEEDED) == LEASE_LOST
        assert Presence(stage.client, stage.config).renew(WORKER, [(task.id, 1)]).lost == [task.id]
        assert dump(stage.client, without=COUNTS) == before


async def test_only_the_last_attempts_are_kept(stage: Stage, queries: Queries) -> None:
    task = await stage.running(max_attempts=40)
    for _ in range(30):
        await stage.finish(task, TaskStatus.RETRYING, delay_ms=0)
        await stage.release()
        [task] = (await stage.claim()).tasks
    await stage.finish(task, TaskStatus.SUCCEEDED)
    numbers = [attempt.number for attempt in queries.detail(task.id).attempts]
    assert numbers == list(range(6, 32))
