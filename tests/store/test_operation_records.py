"""Records of bulk actions: how many run, how many are kept, what is refused, who sees which."""

from __future__ import annotations

import pytest
import redis

from tasks_app.domain.api_key import Reach
from tasks_app.domain.errors import OperationRunning, TooManyOperations, UnreadableRecord, ValidationError
from tasks_app.domain.operation import Selection
from tasks_app.domain.status import TaskStatus as S
from tasks_app.domain.transitions import Action
from tasks_app.store.operations import Operations
from tasks_app.store.scripts import MAX_OPERATING, MAX_OPERATIONS
from tests.support.builders import ACTOR
from tests.support.stage import Stage

DEAD = Selection(status=S.DEAD_LETTERED)


async def test_the_same_twice_and_too_many_are_refused(stage: Stage, operations: Operations) -> None:
    first = operations.begin(Action.REQUEUE, DEAD, ACTOR)
    with pytest.raises(OperationRunning) as refusal:
        operations.begin(Action.REQUEUE, DEAD, ACTOR)
    assert refusal.value.details == {"operation_id": first.id}
    for number in range(1, MAX_OPERATING):
        operations.begin(Action.REQUEUE, Selection(queue=f"q{number}"), ACTOR)
    with pytest.raises(TooManyOperations):
        operations.begin(Action.DISCARD, DEAD, ACTOR)
    assert not operations.run_for(10)
    assert operations.begin(Action.REQUEUE, DEAD, ACTOR).runs


def test_the_oldest_that_has_ended_makes_room(operations: Operations, redis_client: redis.Redis, stage: Stage) -> None:
    waiting = operations.begin(Action.CANCEL, Selection(queue="first"), ACTOR)
    for number in range(MAX_OPERATIONS):
        operations.abort(operations.begin(Action.CANCEL, Selection(queue=f"q{number}"), ACTOR).id, ACTOR)
    assert redis_client.zcard(stage.keys.operations) == MAX_OPERATIONS
    assert len(redis_client.keys(stage.keys.operation("*"))) == MAX_OPERATIONS
    assert operations.get(waiting.id).runs


def test_lists_go_newest_first_and_show_a_key_its_own(operations: Operations) -> None:
    ids = [operations.begin(Action.CANCEL, Selection(queue=q), ACTOR).id for q in ("a", "b", "c")]
    operations.begin(Action.CANCEL, Selection(), ACTOR)
    first = operations.page(limit=3)
    assert [o.id for o in first.items][1:] == ids[:0:-1]
    assert [o.id for o in operations.page(first.next).items] == ids[:1]
    assert [o.selection.queue for o in operations.page(reach=Reach(("b", "c"))).items] == ["c", "b"]


@pytest.mark.parametrize(
    ("action", "selection"),
    [
        (Action.REQUEUE, Selection(status=S.QUEUED)),
        (Action.CANCEL, Selection(status=S.SUCCEEDED)),
        (Action.DISCARD, Selection(status=S.RUNNING)),
        (Action.RUN_NOW, Selection()),
    ],
)
def test_what_an_action_is_not_for_is_refused(operations: Operations, action: Action, selection: Selection) -> None:
    with pytest.raises(ValidationError):
        operations.begin(action, selection, ACTOR)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("trials", "-4"),
        ("trials", "x"),
        ("trying", "0a " * 101),
        ("trying", b"\xff"),
        ("selection", "[]"),
        ("selection", '{"status":"queued"}'),
        ("selection", '{"created_before":"x"}'),
    ],
)
def test_a_damaged_one_is_told_as_such_and_holds_up_no_other(
    operations: Operations, stage: Stage, field: str, value: str | bytes
) -> None:
    damaged = operations.begin(Action.REQUEUE, Selection(), ACTOR, careful=True)
    other = operations.begin(Action.REQUEUE, DEAD, ACTOR)
    stage.client.hset(stage.keys.operation(damaged.id), field, value)
    assert operations.run_for(10) is False
    assert not operations.get(other.id).runs
    with pytest.raises(UnreadableRecord):
        operations.get(damaged.id)


def test_a_key_of_another_kind_holds_up_no_other(operations: Operations, stage: Stage) -> None:
    planted = operations.begin(Action.REQUEUE, Selection(), ACTOR)
    other = operations.begin(Action.REQUEUE, DEAD, ACTOR)
    stage.client.set(stage.keys.operation(planted.id), "x", px=60_000)
    assert operations.run_for(10) is False
    assert not operations.get(other.id).runs
    assert [operation.id for operation in operations.page().items] == [other.id]
    stage.client.delete(stage.keys.operation(planted.id))
