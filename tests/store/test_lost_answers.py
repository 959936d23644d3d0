"""A claim whose answer never came is asked for again, and brings the same tasks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tasks_app.domain.status import TaskStatus
from tasks_app.store.leases import ClaimReply
from tests.support.stage import OTHER_WORKER, Stage


def ids(reply: ClaimReply) -> list[str]:
    return [task.id for task in reply.tasks]


@pytest.fixture
def forget(stage: Stage) -> Callable[[], None]:
    """Make the next claim the same as the last one, as after an answer that was lost."""

    def step_back() -> None:
        stage.leases._turn -= 1

    return step_back


async def test_the_same_tasks_come_again(stage: Stage, forget: Callable[[], None]) -> None:
    stage.submit(payload_json='{"n":1}', timeout_ms=777)
    stage.submit(queue="mail", priority=9, metadata_json='{"m":2}')
    lost = await stage.claim()
    later = stage.submit()
    stage.lapse(lost.tasks[0].id)
    forget()
    again = await stage.claim()
    assert sorted(again.tasks, key=lambda task: task.id) == sorted(lost.tasks, key=lambda task: task.id)
    assert {task.attempt for task in again.tasks} == {1}
    assert stage.client.zcount(stage.keys.leases, "-inf", "+inf") == 2
    assert not (await stage.leases.reclaim(OTHER_WORKER, (), 5)).tasks
    assert ids(await stage.claim()) == [later]


async def test_what_has_ended_or_went_to_another_worker_meanwhile_does_not(
    stage: Stage, forget: Callable[[], None]
) -> None:
    for _ in range(3):
        stage.submit()
    one, two, three = (await stage.claim()).tasks
    await stage.finish(one, TaskStatus.SUCCEEDED)
    stage.lapse(two.id)
    assert ids(await stage.leases.reclaim(OTHER_WORKER, (), 5)) == [two.id]
    forget()
    assert ids(await stage.claim()) == [three.id]


async def test_no_more_than_there_is_room_for(stage: Stage, forget: Callable[[], None]) -> None:
    for _ in range(3):
        stage.submit()
    lost = ids(await stage.claim())
    forget()
    assert ids(await stage.claim(limit=2)) == lost[:2]


async def test_what_waits_besides_is_rung_for_as_that_call_does_not_look(
    stage: Stage, forget: Callable[[], None]
) -> None:
    first = stage.submit()
    await stage.claim()
    later = stage.submit()
    stage.client.delete(stage.keys.wake("default"))  # heard by the wait whose answer was lost
    forget()
    assert ids(await stage.claim()) == [first]
    assert stage.client.llen(stage.keys.wake("default")) == 1
    assert ids(await stage.claim()) == [later]


async def test_an_answer_that_cannot_be_read_does_not_come_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.submit()
    with monkeypatch.context() as broken:
        broken.setattr("tasks_app.store.leases._reply", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await stage.claim()
    later = stage.submit()
    assert ids(await stage.claim()) == [later]


async def test_a_call_that_arrives_late_takes_nothing(stage: Stage, forget: Callable[[], None]) -> None:
    first, second = stage.submit(), stage.submit()
    assert ids(await stage.claim(limit=1)) == [first]
    assert ids(await stage.claim(limit=1)) == [second]
    third = stage.submit()
    forget()
    forget()
    assert await stage.claim() == ClaimReply([], [])
    assert stage.status(third) == "queued"
