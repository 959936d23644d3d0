"""Submission: what is written, in which order ids are born, and every refusal."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable

import pytest
import redis

from tasks_app.domain.config import Config
from tasks_app.domain.errors import (
    IdempotencyInProgress,
    IdempotencyMismatch,
    QueueFull,
    ValidationError,
)
from tasks_app.domain.status import TaskStatus
from tasks_app.store.commands import Commands, Receipt
from tasks_app.store.ingest import MAX_BULK
from tasks_app.store.keys import Keys
from tasks_app.store.queries import Queries
from tests.support.builders import make_config, make_submission
from tests.support.keyspace import dump
from tests.support.stage import HOUR_MS, Stage


def now_ms(client: redis.Redis) -> int:
    seconds, micros = client.time()
    return seconds * 1000 + micros // 1000


def test_a_task_is_born_queued(commands: Commands, queries: Queries, redis_client: redis.Redis) -> None:
    before = now_ms(redis_client)
    receipt = commands.submit(make_submission(payload_json='{"n":1}', metadata_json='{"who":"me"}', priority=7))
    after = now_ms(redis_client)
    task = receipt.task
    assert not receipt.duplicate
    assert task == queries.task(task.id)
    assert (task.status, task.attempt, task.max_attempts, task.priority) == (TaskStatus.QUEUED, 1, 3, 7)
    assert (task.payload_json, task.metadata_json) == ('{"n":1}', '{"who":"me"}')
    assert before <= task.created_at <= after
    assert task.enqueued_at == task.created_at
    assert (task.due_at, task.expires_at, task.worker_id) == (None, None, None)


def test_its_entry_names_the_attempt_it_will_execute(stage: Stage) -> None:
    task_id = stage.submit(queue="mail", priority=0)
    [(entry, fields)] = stage.entries("mail", 0)
    assert fields == {b"task_id": task_id.encode(), b"attempt": b"1"}
    assert stage.record(task_id)["entry"] == entry.decode()


def test_ids_are_uuids_of_version_7_sorted_by_birth(commands: Commands) -> None:
    born = [commands.submit(make_submission()).task for _ in range(30)]  # several in a millisecond
    bulk = [r.task for r in commands.submit_many([make_submission()] * MAX_BULK) if isinstance(r, Receipt)]
    ids = [task.id for task in (*born, *bulk)]
    assert len(set(ids)) == MAX_BULK + 30
    assert ids == sorted(ids)
    for task in (*born, *bulk):
        parsed = uuid.UUID(task.id)
        assert (parsed.version, parsed.variant, parsed.hex) == (7, uuid.RFC_4122, task.id)
        assert int(task.id[:12], 16) == task.created_at


@pytest.mark.parametrize("delay_ms", [1, 1500, 31_536_000_000])
def test_a_delayed_task_is_born_pending(stage: Stage, queries: Queries, delay_ms: int) -> None:
    task = stage.commands.submit(make_submission(delay_ms=delay_ms)).task
    assert (task.status, task.due_at, task.enqueued_at) == (TaskStatus.PENDING, task.created_at + delay_ms, None)
    assert task == queries.task(task.id)
    assert stage.client.zscore(stage.keys.schedule, task.id) == task.due_at
    assert stage.entries() == []


def test_a_moment_to_come_is_a_delay(stage: Stage, queries: Queries) -> None:
    year_9999 = 253_402_300_799_000
    task = stage.commands.submit(make_submission(run_at_ms=year_9999)).task
    assert (task.status, task.due_at) == (TaskStatus.PENDING, year_9999)
    assert task == queries.task(task.id)


@pytest.mark.parametrize("moment", [1, 946_684_800_000])
def test_a_moment_past_means_now(stage: Stage, queries: Queries, moment: int) -> None:
    task = stage.commands.submit(make_submission(run_at_ms=moment)).task
    assert (task.status, task.due_at) == (TaskStatus.QUEUED, None)
    assert task == queries.task(task.id)


def test_a_time_to_live_counts_from_birth(stage: Stage, queries: Queries) -> None:
    task = stage.commands.submit(make_submission(ttl_ms=5000)).task
    assert task.expires_at == task.created_at + 5000
    assert task == queries.task(task.id)


class TestIdempotency:
    """The answers of the contract's table; `k` is the key throughout."""

    @pytest.mark.parametrize("status", [TaskStatus.PENDING, TaskStatus.QUEUED, TaskStatus.RUNNING, TaskStatus.RETRYING])
    async def test_a_live_task_keeps_its_key(self, stage: Stage, status: TaskStatus) -> None:
        task_id = await stage.task(status, idempotency_key="k")
        before = dump(stage.client)
        with pytest.raises(IdempotencyInProgress) as refused:
            stage.submit(idempotency_key="k")
        assert refused.value.details == {"task_id": task_id}
        assert dump(stage.client) == before

    @pytest.mark.parametrize("status", [s for s in TaskStatus if s.is_terminal])
    async def test_an_ended_task_answers_for_its_key(self, stage: Stage, queries: Queries, status: TaskStatus) -> None:
        task_id = await stage.task(status, idempotency_key="k")
        before = dump(stage.client)
        receipt = stage.commands.submit(make_submission(idempotency_key="k"))
        assert receipt == Receipt(queries.task(task_id), duplicate=True)
        assert receipt.task.status == status
        assert dump(stage.client) == before

    @pytest.mark.parametrize("status", TaskStatus)
    @pytest.mark.parametrize("change", [{"task_type": "noop"}, {"payload_json": '{"other":1}'}])
    async def test_another_submission_under_the_key_is_refused(
        self, stage: Stage, status: TaskStatus, change: dict[str, str]
    ) -> None:
        task_id = await stage.task(status, idempotency_key="k")
        before = dump(stage.client)
        with pytest.raises(IdempotencyMismatch) as refused:
            stage.submit(idempotency_key="k", **change)
        assert refused.value.details == {"task_id": task_id}
        assert dump(stage.client) == before

    @pytest.mark.parametrize(
        ("status", "state"),
        [
            (TaskStatus.PENDING, "processing"),
            (TaskStatus.QUEUED, "processing"),
            (TaskStatus.RUNNING, "processing"),
            (TaskStatus.RETRYING, "processing"),
            (TaskStatus.SUCCEEDED, "completed"),
            (TaskStatus.FAILED, "failed"),
            (TaskStatus.DEAD_LETTERED, "failed"),
            (TaskStatus.CANCELLED, "failed"),
            (TaskStatus.EXPIRED, "failed"),
        ],
    )
    async def test_the_key_tells_how_its_task_stands(self, stage: Stage, status: TaskStatus, state: str) -> None:
        task_id = await stage.task(status, idempotency_key="k")
        name = stage.keys.idempotency("default", "k")
        holder = json.loads(stage.client.get(name))
        assert (holder["task_id"], holder["state"]) == (task_id, state)
        assert 0 < stage.client.pttl(name) <= stage.config.idem_ttl_s * 1000 + HOUR_MS

    def test_queues_do_not_share_keys(self, stage: Stage) -> None:
        assert stage.submit(idempotency_key="k") != stage.submit(idempotency_key="k", queue="mail")

    @pytest.mark.parametrize(("one", "other"), [(("a", "b:c"), ("a-b", "c")), (("a", "k"), ("a", "k "))])
    def test_names_do_not_run_together(self, stage: Stage, one: tuple[str, str], other: tuple[str, str]) -> None:
        for queue, key in (one, other):
            stage.submit(queue=queue, idempotency_key=key)

    def test_a_key_whose_task_is_gone_is_free(self, stage: Stage) -> None:
        stage.client.set(stage.keys.idempotency("default", "k"), '{"task_id":"gone","fingerprint":"x"}', px=60_000)
        assert stage.submit(idempotency_key="k")

    @pytest.mark.parametrize("text", ["", "{", "[]", '"x"', "null", "{}", '{"task_id":7}'])
    def test_a_key_that_is_damaged_is_free(self, stage: Stage, text: str) -> None:
        stage.client.set(stage.keys.idempotency("default", "k"), text, px=60_000)
        assert stage.submit(idempotency_key="k")

    def test_the_key_of_a_delayed_task_outlives_its_delay(self, stage: Stage) -> None:
        stage.submit(idempotency_key="k", delay_ms=10 * 86_400_000)
        left = stage.client.pttl(stage.keys.idempotency("default", "k"))
        assert left > 10 * 86_400_000


class TestBulk:
    def test_nothing_in_nothing_out(self, commands: Commands, redis_client: redis.Redis) -> None:
        assert commands.submit_many([]) == []
        assert dump(redis_client) == {}

    def test_more_than_a_thousand_are_refused(self, commands: Commands, redis_client: redis.Redis) -> None:
        with pytest.raises(ValidationError) as refused:
            commands.submit_many([make_submission()] * (MAX_BULK + 1))
        assert list(refused.value.fields) == ["tasks"]
        assert dump(redis_client) == {}

    def test_each_item_has_its_answer_in_its_place(self, commands: Commands) -> None:
        commands.submit(make_submission(idempotency_key="held"))
        items = [
            make_submission(),
            make_submission(idempotency_key="held"),
            make_submission(idempotency_key="held", task_type="noop"),
            make_submission(idempotency_key="twice"),
            make_submission(idempotency_key="twice"),
            make_submission(queue="mail", delay_ms=5000, priority=9),
        ]
        first, busy, mismatch, fresh, again, last = commands.submit_many(items)
        assert isinstance(first, Receipt) and isinstance(fresh, Receipt) and isinstance(last, Receipt)
        assert isinstance(busy, IdempotencyInProgress)
        assert isinstance(mismatch, IdempotencyMismatch)
        assert isinstance(again, IdempotencyInProgress) and again.details == {"task_id": fresh.task.id}
        assert (last.task.queue, last.task.status) == ("mail", TaskStatus.PENDING)

    @pytest.mark.real_redis
    def test_a_thousand_are_one_script_call(self, commands: Commands, redis_client: redis.Redis) -> None:
        commands.submit(make_submission())  # the server knows the script from here on
        redis_client.config_resetstat()
        items = [make_submission(queue=f"q{i % 7}", priority=i % 10, idempotency_key=f"k{i}") for i in range(MAX_BULK)]
        assert all(isinstance(reply, Receipt) for reply in commands.submit_many(items))
        assert redis_client.info("commandstats")["cmdstat_evalsha"]["calls"] == 1


class TestDepth:
    @pytest.fixture
    def config(self) -> Config:
        return make_config(max_queue_depth=3)

    async def test_a_full_queue_takes_no_more(self, stage: Stage) -> None:
        await stage.task(TaskStatus.RETRYING)
        stage.submit()
        stage.submit(delay_ms=5000)
        before = dump(stage.client)
        with pytest.raises(QueueFull) as refused:
            stage.submit()
        assert refused.value.details == {"queue": "default", "limit": 3}
        assert dump(stage.client) == before
        stage.submit(queue="mail")

    @pytest.mark.parametrize("status", [s for s in TaskStatus if not s.is_waiting])
    async def test_what_runs_or_has_ended_does_not_count(self, stage: Stage, status: TaskStatus) -> None:
        for _ in range(4):
            await stage.task(status)
        assert stage.submit()

    def test_a_bulk_call_stops_at_the_depth(self, commands: Commands) -> None:
        replies = commands.submit_many([make_submission()] * 5)
        assert [type(reply) for reply in replies] == [Receipt, Receipt, Receipt, QueueFull, QueueFull]

    async def test_a_known_key_is_answered_even_when_full(self, stage: Stage) -> None:
        await stage.task(TaskStatus.SUCCEEDED, idempotency_key="k")
        for _ in range(3):
            stage.submit()
        assert stage.commands.submit(make_submission(idempotency_key="k")).duplicate


class TestQueueNames:
    @pytest.fixture
    def config(self) -> Config:
        return make_config(max_queues=2)

    def test_there_are_only_so_many(self, stage: Stage) -> None:
        stage.submit(queue="a")
        stage.submit(queue="b")
        before = dump(stage.client)
        with pytest.raises(ValidationError) as refused:
            stage.submit(queue="c")
        assert refused.value.fields == {"queue": ["is new, and there are 2 queue names already"]}
        assert dump(stage.client) == before
        stage.submit(queue="a")


@pytest.mark.parametrize("prefix", ["{dtq}", "app.1"])
def test_every_key_is_under_the_prefix(redis_client: redis.Redis, prefix: str) -> None:
    commands = Commands(redis_client, make_config(key_prefix=prefix))
    commands.submit(make_submission(idempotency_key="k", delay_ms=5))
    commands.submit(make_submission())
    assert all(key.startswith(f"{prefix}:") for key in dump(redis_client))


def test_a_new_queue_rings_for_workers_of_every_queue(
    stage: Stage, keys: Keys, submission: Callable[..., object]
) -> None:
    stage.submit(queue="mail")
    assert stage.client.llen(keys.wake("*")) == 4  # a bell wakes one worker
    assert stage.client.llen(keys.wake("mail")) == 1
    for _ in range(20):
        stage.submit(queue="mail")
    assert stage.client.llen(keys.wake("mail")) == 4
