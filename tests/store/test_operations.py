"""Bulk actions by filter: bounded steps, exact counts whatever breaks off between two commands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import redis

from tasks_app.domain.errors import NotFound, OperationEnded, StoreUnavailable, ValidationError
from tasks_app.domain.operation import Operation, OperationState, Selection
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.transitions import Action
from tasks_app.store import operations as module
from tasks_app.store.operations import Operations
from tasks_app.store.queries import Queries
from tests.support.builders import ACTOR
from tests.support.keyspace import dump
from tests.support.stage import Stage

S = TaskStatus
DEAD = Selection(status=S.DEAD_LETTERED)


@pytest.fixture
def step_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes the steps as small as a test can afford tasks for."""
    return lambda size: monkeypatch.setattr(module, "MAX_BATCH", size)


async def dead(stage: Stage, count: int, **overrides: object) -> list[str]:
    return [await stage.task(S.DEAD_LETTERED, **overrides) for _ in range(count)]


def finish(operations: Operations, operation: Operation) -> Operation:
    while operations.run_for(10):
        pass
    return operations.get(operation.id)


async def test_everything_dead_comes_back_and_the_report_adds_up(
    stage: Stage, operations: Operations, queries: Queries, step_of: Callable[[int], None]
) -> None:
    step_of(3)
    ids = [*await dead(stage, 7), await stage.task(S.FAILED)]
    alive = stage.submit()
    operation = operations.begin(Action.REQUEUE, Selection(), ACTOR)
    assert (operation.reckoning.total, operation.reckoning.exact, operation.runs) == (8, True, True)
    assert {stage.status(i) for i in ids} == {"dead_lettered", "failed"}, "asking changes nothing yet"
    ended = finish(operations, operation)
    assert (ended.state, ended.looked, ended.done, ended.skips) == (OperationState.FINISHED, 8, 8, 0)
    assert ended.ended_at is not None and ended.ended_at >= ended.created_at
    assert {stage.record(i)["requeues"] for i in ids} == {"1"}
    assert {stage.status(i) for i in [*ids, alive]} == {"queued"}
    assert [(e.action, e.actor, e.target, e.detail) for e in queries.audit().items] == [
        ("operation-end", "tester", f"operation:{operation.id}", "requeue: 8 done"),
        ("operation-begin", "tester", f"operation:{operation.id}", "requeue 8"),
    ]


@pytest.mark.parametrize(
    ("selection", "chosen", "exact"),
    [
        (Selection(queue="mail"), {"mail echo", "mail noop"}, True),
        (Selection(task_type="noop"), {"mail noop", "default noop"}, True),
        (Selection(queue="mail", task_type="noop"), {"mail noop"}, False),
        (Selection(worker_id="w9"), set(), False),
        (Selection(worker_id="w1", queue="mail"), {"mail echo", "mail noop"}, False),
        (Selection(created_before=1), set(), True),
        (Selection(created_after=1), {"mail echo", "mail noop", "default noop"}, True),
    ],
)
async def test_a_filter_is_kept(
    stage: Stage, operations: Operations, selection: Selection, chosen: set[str], exact: bool
) -> None:
    ids = {
        f"{queue} {kind}": await stage.task(S.DEAD_LETTERED, queue=queue, task_type=kind)
        for queue, kind in (("mail", "echo"), ("mail", "noop"), ("default", "noop"))
    }
    operation = finish(operations, operations.begin(Action.REQUEUE, selection, ACTOR))
    assert operation.reckoning.exact is exact
    assert operation.done == len(chosen)
    assert {name for name, task_id in ids.items() if stage.status(task_id) == "queued"} == chosen


async def test_one_cause_of_many(stage: Stage, operations: Operations, queries: Queries) -> None:
    await dead(stage, 3, task_type="noop")
    [group] = queries.dead_letter_groups()
    other = await stage.task(S.DEAD_LETTERED, task_type="echo")
    cause = Selection(fingerprint=group.fingerprint)
    operation = finish(operations, operations.begin(Action.DISCARD, cause, ACTOR))
    assert (operation.reckoning.total, operation.done) == (3, 3)
    assert stage.status(other) == "dead_lettered"
    for wrong in (Action.CANCEL, Action.REQUEUE):
        with pytest.raises(ValidationError):
            operations.begin(wrong, Selection(status=S.FAILED, fingerprint=group.fingerprint), ACTOR)


async def test_cancelling_ends_what_waits_and_tells_what_runs(
    stage: Stage, operations: Operations, step_of: Callable[[int], None]
) -> None:
    step_of(2)
    ids = await stage.one_of_each()
    operation = finish(operations, operations.begin(Action.CANCEL, Selection(), ACTOR))
    assert (operation.reckoning.total, operation.looked, operation.done, operation.told) == (4, 4, 3, 1)
    assert all(stage.status(ids[s]) == "cancelled" for s in (S.PENDING, S.QUEUED, S.RETRYING))
    assert stage.record(ids[S.RUNNING])["cancel_requested"] == "1"
    running = finish(operations, operations.begin(Action.CANCEL, Selection(queue="default", status=S.RUNNING), ACTOR))
    assert (running.reckoning.exact, running.told) == (False, 1)


@pytest.mark.parametrize("selection", [Selection(), Selection(queue="mail")])
async def test_every_running_task_is_told_however_many_run(
    stage: Stage,
    operations: Operations,
    selection: Selection,
    step_of: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step_of(50)
    monkeypatch.setattr(module, "_LEASES", 10)
    ids = [stage.submit(queue="mail") for _ in range(300)]
    for _ in range(3):
        await stage.claim()
    # Those born first have the latest leases, so the walk by id sees them when it is past them.
    stage.client.zadd(stage.keys.leases, {task_id: 4e12 - i for i, task_id in enumerate(ids)})
    waiting = stage.submit(queue="mail")
    ended = finish(operations, operations.begin(Action.CANCEL, selection, ACTOR))
    assert [stage.record(task_id).get("cancel_requested") for task_id in ids] == ["1"] * 300
    assert (ended.told, ended.done, ended.looked) == (300, 1, 301)
    assert stage.status(waiting) == "cancelled"


async def test_what_has_moved_on_is_left_alone_and_counted_with_its_status(
    stage: Stage, operations: Operations, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, requeued, still = await dead(stage, 3)
    operation = operations.begin(Action.REQUEUE, DEAD, ACTOR)
    real = operations._following

    def meanwhile(*args: object) -> list[bytes]:
        members = real(*args)  # type: ignore[arg-type]
        if stage.status(gone):
            stage.commands.discard(gone, ACTOR)
            stage.commands.dlq_requeue(requeued, ACTOR)
        return members

    monkeypatch.setattr(operations, "_following", meanwhile)
    ended = finish(operations, operation)
    assert (ended.done, dict(ended.skipped)) == (1, {"NOT_FOUND": 1, "queued": 1})
    assert (stage.record(requeued)["requeues"], stage.record(still)["requeues"]) == ("1", "1")


async def test_a_task_that_dies_again_or_came_later_is_not_taken_again(
    stage: Stage, operations: Operations, step_of: Callable[[int], None]
) -> None:
    step_of(1)
    [first, second] = await dead(stage, 2)
    operation = operations.begin(Action.REQUEUE, DEAD, ACTOR)
    assert operations.step(operation)
    [task] = (await stage.claim()).tasks
    assert task.id == first
    await stage.finish(task, S.DEAD_LETTERED)
    ended = finish(operations, operation)
    assert (ended.done, ended.looked) == (2, 2)
    assert (stage.status(first), stage.record(first)["requeues"]) == ("dead_lettered", "1")
    assert stage.status(second) == "queued"


async def test_what_was_born_after_the_asking_is_not_meant(
    stage: Stage, operations: Operations, redis_client: redis.Redis
) -> None:
    await dead(stage, 1)
    operation = operations.begin(Action.REQUEUE, DEAD, ACTOR)
    before = operation.selection.created_before or 0
    while (now := redis_client.time())[0] * 1000 + now[1] // 1000 < before:
        await asyncio.to_thread(lambda: None)
    later = await stage.task(S.DEAD_LETTERED)
    assert finish(operations, operation).done == 1
    assert stage.status(later) == "dead_lettered"


async def test_a_step_taken_twice_acts_and_counts_once(
    stage: Stage, operations: Operations, redis_client: redis.Redis, step_of: Callable[[int], None]
) -> None:
    step_of(2)
    await dead(stage, 5)
    operation = operations.begin(Action.REQUEUE, DEAD, ACTOR)
    assert operations.step(operation)
    before = dump(redis_client)
    # A leader that froze before its call, or repeats one whose answer was lost.
    assert not operations.step(operation)
    assert dump(redis_client) == before
    ended = finish(operations, operation)
    assert (ended.done, ended.skips, ended.looked) == (5, 0, 5)
    assert not operations.step(operation)


@pytest.mark.parametrize("action", [Action.REQUEUE, Action.CANCEL, Action.DISCARD])
async def test_breaking_off_anywhere_loses_and_doubles_nothing(
    stage: Stage,
    operations: Operations,
    action: Action,
    step_of: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step_of(2)
    ids = [stage.submit() for _ in range(5)] if action is Action.CANCEL else await dead(stage, 5)
    operation = operations.begin(action, Selection(), ACTOR)
    real = operations._scripts.run, operations._commands._scripts.run
    calls = 0

    def breaking(run: Callable[..., object]) -> Callable[..., object]:
        """Every call is lost on its way there first, then its answer on the way back."""

        def call(name: str, *args: object) -> object:
            nonlocal calls
            calls += 1
            if calls % 3 == 1:
                raise StoreUnavailable("lost before")
            reply = run(name, *args)
            if calls % 3 == 2:
                raise StoreUnavailable("lost after")
            return reply

        return call

    monkeypatch.setattr(operations._scripts, "run", breaking(real[0]))
    monkeypatch.setattr(operations._commands._scripts, "run", breaking(real[1]))
    left = True
    while left:
        try:
            left = operations.run_for(10)
        except StoreUnavailable:
            continue
    ended = operations.get(operation.id)
    assert (ended.state, ended.done, ended.skips, ended.looked) == ("finished", 5, 0, 5)
    expected = {Action.REQUEUE: "queued", Action.CANCEL: "cancelled", Action.DISCARD: None}[action]
    assert {stage.status(i) for i in ids} == {expected}
    if action is Action.REQUEUE:
        assert {stage.record(i)["requeues"] for i in ids} == {"1"}


async def test_aborting_stops_where_it_is(
    stage: Stage, operations: Operations, step_of: Callable[[int], None], queries: Queries
) -> None:
    step_of(2)
    ids = await dead(stage, 5)
    operation = operations.begin(Action.REQUEUE, DEAD, ACTOR)
    operations.step(operation)
    under_way = operations.get(operation.id)
    operations.abort(operation.id, ACTOR)
    assert not operations.step(under_way)
    ended = finish(operations, operation)
    assert (ended.state, ended.done, ended.ended_by) == (OperationState.ABORTED, 2, "tester")
    assert sorted(stage.status(i) or "" for i in ids) == ["dead_lettered"] * 3 + ["queued"] * 2
    with pytest.raises(OperationEnded):
        operations.abort(operation.id, ACTOR)
    with pytest.raises(NotFound):
        operations.abort("f" * 32, ACTOR)
    assert [e.action for e in queries.audit().items] == ["operation-abort", "operation-begin"]


async def test_damaged_records_are_discarded_or_counted(
    stage: Stage, operations: Operations, redis_client: redis.Redis, damaged: set[str]
) -> None:
    broken, odd, good = await dead(stage, 3)
    redis_client.hset(stage.keys.task(broken), "attempt", "x")
    redis_client.hset(stage.keys.task(odd), "metadata", "{")
    damaged.update({broken, odd})
    requeued = finish(operations, operations.begin(Action.REQUEUE, DEAD, ACTOR))
    assert (requeued.done, dict(requeued.skipped)) == (1, {"UNREADABLE_RECORD": 2})
    assert stage.status(good) == "queued"
    assert finish(operations, operations.begin(Action.DISCARD, DEAD, ACTOR)).done == 2
