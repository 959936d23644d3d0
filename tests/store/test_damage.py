"""Records that somebody broke: shown as unreadable, put aside by workers, discardable, and no trouble for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tasks_app.domain.config import Config
from tasks_app.domain.errors import DtqError, NotFound, UnreadableRecord
from tasks_app.domain.snapshot import TaskFilter
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import UnreadableTask
from tasks_app.store.leases import Note
from tasks_app.store.presence import Presence
from tasks_app.store.queries import Queries
from tests.support.builders import ACTOR, make_config
from tests.support.stage import OTHER_WORKER, WORKER, Stage

KEYED = "dtq:index:idempotency"

Break = Callable[[Any, str], object]

BROKEN: dict[str, Break] = {
    "without a status": lambda client, key: client.hdel(key, "status"),
    "with an unknown status": lambda client, key: client.hset(key, "status", "sleeping"),
    "without a type": lambda client, key: client.hdel(key, "task_type"),
    "without a queue": lambda client, key: client.hdel(key, "queue"),
    "without a priority": lambda client, key: client.hdel(key, "priority"),
    "without its attempt": lambda client, key: client.hdel(key, "attempt"),
    "with a word for an attempt": lambda client, key: client.hset(key, "attempt", "first"),
    "with a word for its limit": lambda client, key: client.hset(key, "max_attempts", "many"),
    "with one odd field": lambda client, key: (client.delete(key), client.hset(key, "odd", "field")),
}
# Such a record still tells the scripts where it stands; only readers stumble.
ODD: dict[str, Break] = {
    "without a birth": lambda client, key: client.hdel(key, "created_at"),
    "with a type that is not UTF-8": lambda client, key: client.hset(key, "error_message", b"\xff\xfe"),
    "with broken metadata": lambda client, key: client.hset(key, "metadata", "{"),
    "with metadata nested too deep": lambda client, key: client.hset(key, "metadata", "[" * 100_000),
    "with a word for a moment": lambda client, key: client.hset(key, "started_at", "noon"),
}


@pytest.fixture
def broken(stage: Stage, damaged: set[str]) -> Callable[[TaskStatus, Break], Any]:
    async def plant(status: TaskStatus, how: Break) -> str:
        task_id = await stage.task(status)
        how(stage.client, stage.keys.task(task_id))
        damaged.add(task_id)
        return task_id

    return plant


@pytest.mark.parametrize("how", [name for name in (*BROKEN, *ODD) if name != "with one odd field"])
class TestReading:
    async def test_a_page_shows_it_as_unreadable(
        self, stage: Stage, queries: Queries, broken: Callable[..., Any], how: str
    ) -> None:
        before, bad, after = stage.submit(), await broken(TaskStatus.QUEUED, {**BROKEN, **ODD}[how]), stage.submit()
        for where in (
            TaskFilter(),
            TaskFilter(status=TaskStatus.QUEUED),
            TaskFilter(queue="default"),
            TaskFilter(q="0"),
        ):
            rows = {row.id: row for row in queries.tasks(where).items}
            assert set(rows) >= {before, after}
            if "metadata" not in how and not where.q:
                row = rows[bad]
                assert isinstance(row, UnreadableTask) and row.reason

    async def test_its_own_page_says_so(self, queries: Queries, broken: Callable[..., Any], how: str) -> None:
        bad = await broken(TaskStatus.SUCCEEDED, {**BROKEN, **ODD}[how])
        for ask in (queries.task, queries.detail):
            with pytest.raises(UnreadableRecord) as told:
                ask(bad)
            assert told.value.details == {"task_id": bad}

    async def test_every_act_is_refused_by_name_or_done(
        self, stage: Stage, broken: Callable[..., Any], how: str
    ) -> None:
        for status in TaskStatus:
            bad = await broken(status, {**BROKEN, **ODD}[how])
            for act in (stage.commands.cancel, stage.commands.run_now, stage.commands.dlq_requeue):
                try:
                    act(bad, ACTOR)
                except DtqError as refused:
                    assert refused.code != "INTERNAL_ERROR"


@pytest.mark.parametrize("how", BROKEN)
class TestWorking:
    async def test_a_worker_puts_it_aside_and_moves_on(
        self, stage: Stage, queries: Queries, broken: Callable[..., Any], how: str
    ) -> None:
        bad = await broken(TaskStatus.QUEUED, BROKEN[how])
        good = stage.submit()
        reply = await stage.claim()
        assert [task.id for task in reply.tasks] == [good]
        assert [(a.task_id, a.reason) for a in reply.absorbed] == [(bad, "unreadable")]
        [letter] = queries.dead_letters().items
        assert (letter.task_id, letter.error_class) == (bad, "UnreadableRecord")
        assert stage.client.pttl(stage.keys.task(bad)) > 0
        assert (await stage.claim()).absorbed == []

    async def test_a_lost_one_does_not_stop_the_reaper(
        self, stage: Stage, queries: Queries, broken: Callable[..., Any], how: str
    ) -> None:
        good = await stage.running()
        bad = await broken(TaskStatus.RUNNING, BROKEN[how])
        stage.lapse(good.id)
        stage.lapse(bad)
        assert [task.id for task in (await stage.leases.reclaim(OTHER_WORKER, (), 5)).tasks] == [good.id]
        assert stage.client.zscore(stage.keys.leases, bad) is None
        assert [letter.task_id for letter in queries.dead_letters().items] == [bad]
        assert stage.client.pttl(stage.keys.task(bad)) > 0

    async def test_a_scheduled_one_does_not_stop_the_scheduler(
        self, stage: Stage, queries: Queries, broken: Callable[..., Any], how: str
    ) -> None:
        good = await stage.task(TaskStatus.PENDING)
        bad = await broken(TaskStatus.PENDING, BROKEN[how])
        stage.make_due(good)
        stage.make_due(bad)
        assert await stage.release() == 1
        assert stage.status(good) == "queued"
        assert stage.client.zscore(stage.keys.claimed, bad) is None
        assert [letter.task_id for letter in queries.dead_letters().items] == [bad]
        assert stage.client.pttl(stage.keys.task(bad)) > 0

    @pytest.mark.parametrize("status", TaskStatus)
    async def test_it_can_be_discarded(
        self, stage: Stage, queries: Queries, broken: Callable[..., Any], how: str, status: TaskStatus
    ) -> None:
        bad = await broken(status, BROKEN[how])
        stage.commands.discard(bad, ACTOR)
        retire(stage, bad)
        await stage.sweep()
        with pytest.raises(NotFound):
            queries.task(bad)
        assert bad not in {row.id for row in queries.tasks(TaskFilter()).items}
        assert queries.counts()[status] == 0


def retire(stage: Stage, task_id: str) -> None:
    """Let the sweep find what only retention still knows of a record that has lost its fields."""
    for member in stage.client.zrange(stage.keys.retention, 0, -1):
        if task_id.encode() in member:
            stage.client.zadd(stage.keys.retention, {member: 1})


async def test_what_was_put_aside_is_listed_and_goes_with_retention(
    stage: Stage, queries: Queries, broken: Callable[..., Any]
) -> None:
    bad = await broken(TaskStatus.QUEUED, BROKEN["without its attempt"])
    await stage.claim()
    [row] = queries.tasks(TaskFilter(status=TaskStatus.DEAD_LETTERED)).items
    assert row.id == bad and isinstance(row, UnreadableTask)
    assert queries.tasks(TaskFilter(status=TaskStatus.QUEUED)).items == []
    [group] = queries.dead_letter_groups()
    assert (group.error_class, group.count) == ("UnreadableRecord", 1)
    stage.client.delete(stage.keys.task(bad))
    retire(stage, bad)
    await stage.sweep()
    assert queries.tasks(TaskFilter()).items == []
    assert queries.dead_letters().items == []


@pytest.mark.parametrize(("field", "value"), [("queue", "elsewhere"), ("priority", "7")])
async def test_one_that_names_another_lane_is_put_aside(
    stage: Stage, queries: Queries, broken: Callable[..., Any], field: str, value: str
) -> None:
    bad = await broken(TaskStatus.QUEUED, lambda client, key: client.hset(key, field, value))
    assert [(a.task_id, a.reason) for a in (await stage.claim()).absorbed] == [(bad, "unreadable")]
    assert queries.counts(queue="default")[TaskStatus.QUEUED] == 0
    assert stage.client.xlen(stage.keys.stream("default", 5)) == 0


class TestDeadLettersOff:
    @pytest.fixture
    def config(self) -> Config:
        return make_config(dlq_enabled=False)

    async def test_it_is_put_aside_among_the_failed(
        self, stage: Stage, queries: Queries, broken: Callable[..., Any]
    ) -> None:
        bad = await broken(TaskStatus.QUEUED, BROKEN["without its attempt"])
        await stage.claim()
        assert [row.id for row in queries.tasks(TaskFilter(status=TaskStatus.FAILED)).items] == [bad]
        assert queries.dead_letters().items == []


async def test_discarding_takes_the_dead_letter_with_it(
    stage: Stage, queries: Queries, broken: Callable[..., Any]
) -> None:
    bad = await broken(TaskStatus.QUEUED, BROKEN["without a status"])
    await stage.claim()
    stage.commands.discard(bad, ACTOR)
    assert queries.dead_letters().items == []


async def test_an_index_member_that_points_nowhere_is_left_out(stage: Stage, queries: Queries) -> None:
    ids = [stage.submit() for _ in range(5)]
    for task_id in ids[1:4]:
        stage.client.delete(stage.keys.task(task_id))
    page = queries.tasks(TaskFilter(status=TaskStatus.QUEUED), limit=2)
    assert [row.id for row in page.items] == sorted([ids[0], ids[4]], reverse=True)
    assert page.next is None
    await stage.claim()
    await stage.sweep()


class TestWrongKinds:
    """A key of another kind where a record should be."""

    async def test_it_is_shown_put_aside_and_discardable(
        self, stage: Stage, queries: Queries, broken: Callable[..., Any]
    ) -> None:
        good = stage.submit()
        bad = await broken(TaskStatus.QUEUED, lambda client, key: (client.delete(key), client.set(key, "text")))
        rows = {row.id: row for row in queries.tasks(TaskFilter()).items}
        assert set(rows) == {good, bad} and isinstance(rows[bad], UnreadableTask)
        with pytest.raises(UnreadableRecord):
            queries.task(bad)
        with pytest.raises(UnreadableRecord):
            stage.commands.cancel(bad, ACTOR)
        reply = await stage.claim()
        assert [task.id for task in reply.tasks] == [good]
        assert [a.reason for a in reply.absorbed] == ["unreadable"]
        stage.commands.discard(bad, ACTOR)
        assert {row.id for row in queries.tasks(TaskFilter()).items} == {good}

    async def test_it_costs_the_worker_no_other_task(self, stage: Stage, config: Config, damaged: set[str]) -> None:
        good, bad = await stage.running(), await stage.running()
        self.put_text(stage, bad.id, damaged)
        running = [(good.id, good.attempt), (bad.id, bad.attempt)]
        await stage.leases.note(WORKER, [Note(bad.id, bad.attempt, 0.5), Note(good.id, good.attempt, 0.5)])
        assert stage.record(good.id)["progress"] == "0.5"
        assert Presence(stage.client, config).renew(WORKER, running).lost == [bad.id]
        assert await stage.leases.give_back(WORKER, running) == 1
        await stage.leases.reclaim(OTHER_WORKER, (), 5)

    async def test_it_frees_its_key_and_stops_no_sweep(self, stage: Stage, damaged: set[str]) -> None:
        bad = stage.submit(idempotency_key="k")
        self.put_text(stage, bad, damaged)
        stage.client.zadd(KEYED, {bad: 1})
        await stage.sweep()
        assert stage.client.zscore(KEYED, bad) is None
        assert stage.submit(idempotency_key="k") != bad
        await stage.claim()

    def put_text(self, stage: Stage, task_id: str, damaged: set[str]) -> None:
        stage.client.delete(stage.keys.task(task_id))
        stage.client.set(stage.keys.task(task_id), "text")
        damaged.add(task_id)


@pytest.mark.parametrize("metadata", ["[]", "7", '"x"', "null"])
async def test_metadata_that_is_no_object_is_refused_by_name(stage: Stage, damaged: set[str], metadata: str) -> None:
    task_id = await stage.task(TaskStatus.FAILED)
    stage.client.hset(stage.keys.task(task_id), "metadata", metadata)
    with pytest.raises(UnreadableRecord):
        stage.commands.dlq_requeue(task_id, ACTOR)


async def test_a_key_whose_ended_task_is_damaged_is_told_so(stage: Stage, broken: Callable[..., Any]) -> None:
    task_id = await stage.task(TaskStatus.FAILED, idempotency_key="k")
    stage.client.hdel(stage.keys.task(task_id), "created_at")
    with pytest.raises(UnreadableRecord):
        stage.submit(idempotency_key="k")


async def test_a_payload_that_is_not_utf8_reaches_the_worker_as_such(stage: Stage) -> None:
    task_id = stage.submit()
    stage.client.hset(stage.keys.task(task_id), "payload", b'{"a":"\xff"}')
    [task] = (await stage.claim()).tasks
    assert task.payload_json.encode(errors="surrogateescape") == b'{"a":"\xff"}'


async def test_a_running_record_without_a_worker_can_be_cancelled(stage: Stage) -> None:
    task = await stage.running()
    stage.client.hdel(stage.keys.task(task.id), "worker_id")
    with pytest.raises(DtqError) as told:
        stage.commands.cancel(task.id, ACTOR)
    assert told.value.code == "CANCEL_REQUESTED"
    stage.lapse(task.id)
    await stage.leases.reclaim(OTHER_WORKER, (), 5)
    assert stage.status(task.id) == "cancelled"
