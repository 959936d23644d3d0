"""A requeue that tries 1, then 10, then 100 tasks, and stops by itself where too many fail again."""

from __future__ import annotations

import pytest

from tasks_app.domain.errors import ValidationError
from tasks_app.domain.operation import Operation, OperationState, Selection
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.transitions import Action
from tasks_app.store.operations import Operations
from tasks_app.store.queries import Queries
from tests.support.builders import ACTOR
from tests.support.stage import Stage

S = TaskStatus


class Careful:
    """One careful operation over so many dead letters, oldest first in ``ids``."""

    def __init__(self, stage: Stage, operations: Operations) -> None:
        self._stage = stage
        self._operations = operations
        self.ids: list[str] = []
        self._id = ""

    async def begin(self, count: int) -> None:
        self.ids = [await self._stage.task(S.DEAD_LETTERED) for _ in range(count)]
        self._id = self._operations.begin(Action.REQUEUE, Selection(), ACTOR, careful=True).id

    def go_on(self) -> Operation:
        """As far as it goes without waiting."""
        assert self._operations.run_for(10) is False
        return self._operations.get(self._id)

    async def end(self, count: int, status: TaskStatus) -> None:
        """So many of what was requeued."""
        for task in (await self._stage.claim(limit=count)).tasks:
            await self._stage.finish(task, status)


@pytest.fixture
def careful(stage: Stage, operations: Operations) -> Careful:
    return Careful(stage, operations)


async def test_it_does_one_then_ten_then_a_hundred_then_the_rest(careful: Careful) -> None:
    await careful.begin(130)
    for done, tried in ((1, 1), (11, 10), (111, 100)):
        operation = careful.go_on()
        assert (operation.done, len(operation.trying)) == (done, tried)
        assert set(operation.trying) == set(careful.ids[done - tried : done])
        await careful.end(tried, S.SUCCEEDED)
    ended = careful.go_on()
    assert (ended.state, ended.done, ended.looked, ended.failed) == (OperationState.FINISHED, 130, 130, 0)


async def test_it_waits_for_all_of_a_trial(careful: Careful) -> None:
    await careful.begin(12)
    careful.go_on()
    await careful.end(1, S.SUCCEEDED)
    assert careful.go_on().done == 11
    await careful.end(9, S.SUCCEEDED)
    assert careful.go_on().done == 11
    await careful.end(1, S.SUCCEEDED)
    assert careful.go_on().done == 12


async def test_it_stops_as_soon_as_too_many_have_failed_again(careful: Careful, stage: Stage, queries: Queries) -> None:
    await careful.begin(30)
    careful.go_on()
    await careful.end(1, S.SUCCEEDED)
    careful.go_on()
    await careful.end(2, S.DEAD_LETTERED)
    assert careful.go_on().runs
    await careful.end(1, S.FAILED)
    ended = careful.go_on()
    assert (ended.state, ended.done, ended.failed, ended.ended_by) == (OperationState.STOPPED, 11, 3, "tester")
    assert {stage.status(i) for i in careful.ids[11:]} == {"dead_lettered"}
    assert {stage.record(i).get("requeues") for i in careful.ids[11:]} == {None}
    newest = queries.audit().items[0]
    assert (newest.action, newest.detail) == ("operation-stop", "requeue: 11 done, 3 failed again")


async def test_the_first_one_is_enough(careful: Careful) -> None:
    await careful.begin(5)
    careful.go_on()
    await careful.end(1, S.DEAD_LETTERED)
    ended = careful.go_on()
    assert (ended.state, ended.done, ended.failed) == (OperationState.STOPPED, 1, 1)


async def test_a_few_failures_among_ten_do_not_stop_it(careful: Careful) -> None:
    await careful.begin(12)
    careful.go_on()
    await careful.end(1, S.SUCCEEDED)
    careful.go_on()
    await careful.end(2, S.DEAD_LETTERED)
    await careful.end(8, S.SUCCEEDED)
    assert careful.go_on().done == 12


async def test_how_the_last_trial_ends_is_waited_for(careful: Careful) -> None:
    await careful.begin(1)
    assert careful.go_on().runs
    await careful.end(1, S.SUCCEEDED)
    assert careful.go_on().state is OperationState.FINISHED


async def test_what_was_not_requeued_or_is_gone_is_no_trial(careful: Careful, stage: Stage) -> None:
    await careful.begin(4)
    stage.client.hset(stage.keys.task(careful.ids[0]), "attempt", "x")
    operation = careful.go_on()
    assert (operation.looked, operation.done, operation.trying) == (2, 1, (careful.ids[1],))
    stage.commands.cancel(careful.ids[1], ACTOR)
    assert careful.go_on().done == 3
    stage.commands.discard(careful.ids[0], ACTOR)


async def test_it_can_be_aborted_while_it_waits(careful: Careful, operations: Operations) -> None:
    await careful.begin(3)
    operation = careful.go_on()
    operations.abort(operation.id, ACTOR)
    assert not operations.step(operation)
    assert (careful.go_on().state, careful.go_on().done) == (OperationState.ABORTED, 1)


@pytest.mark.parametrize("action", [Action.CANCEL, Action.DISCARD])
def test_only_what_runs_again_can_be_tried(operations: Operations, action: Action) -> None:
    with pytest.raises(ValidationError):
        operations.begin(action, Selection(), ACTOR, careful=True)


async def test_those_that_wait_leave_the_others_their_turn_however_short_it_is(
    stage: Stage, operations: Operations
) -> None:
    for queue in ("a", "b", "c"):
        await stage.task(S.DEAD_LETTERED, queue=queue)
        operations.begin(Action.REQUEUE, Selection(queue=queue), ACTOR, careful=True)
    operations.run_for(10)
    last = await stage.task(S.DEAD_LETTERED)
    operations.begin(Action.REQUEUE, Selection(queue="default"), ACTOR)
    more = [operations.run_for(0) for _ in range(4)]
    assert stage.status(last) == "queued"
    assert more == [True, True, True, True]


async def test_nothing_hurries_where_all_wait(stage: Stage, operations: Operations) -> None:
    for queue in ("a", "b"):
        await stage.task(S.DEAD_LETTERED, queue=queue)
        operations.begin(Action.REQUEUE, Selection(queue=queue), ACTOR, careful=True)
    operations.run_for(10)
    assert operations.run_for(0) is False
