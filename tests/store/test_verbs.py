"""Every verb against every status: it makes the move the table lists, or changes nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import product

import pytest

from tasks_app.domain.errors import DtqError
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.transitions import REQUEUEABLE, VALID_TRANSITIONS
from tasks_app.store.leases import Finish, Note
from tasks_app.store.presence import Presence
from tests.support.builders import ACTOR
from tests.support.keyspace import COUNTS, dump
from tests.support.stage import OTHER_WORKER, TOKEN, WORKER, Stage

S = TaskStatus
Verb = Callable[[Stage, str], Awaitable[object]]
GONE = "gone"


async def claim(stage: Stage, task_id: str) -> None:
    """A stream entry of the task is found, wherever it came from."""
    record = stage.record(task_id)
    if record["status"] != S.QUEUED:
        stage.client.xadd(stage.keys.stream("default", 5), {"task_id": task_id, "attempt": record["attempt"]})
        stage.client.sadd(stage.keys.ready, "default:p5")
    await stage.claim()


def finish(status: TaskStatus, worker: str = WORKER, behind: int = 0) -> Verb:
    """An attempt's end is reported, by default by the worker and for the attempt that the record names."""

    async def act(stage: Stage, task_id: str) -> None:
        attempt = int(stage.record(task_id)["attempt"]) - behind
        await stage.leases.finish(worker, [Finish(task_id, attempt, status, "failed", result_json="1")])

    return act


async def reclaim(stage: Stage, task_id: str) -> None:
    stage.client.zadd(stage.keys.leases, {task_id: 1})
    await stage.leases.reclaim(OTHER_WORKER, (), 10)


async def give_back_to_nobody(stage: Stage, task_id: str) -> None:
    await stage.leases.give_back(OTHER_WORKER, [(task_id, 1)])


async def note(stage: Stage, task_id: str) -> None:
    await stage.leases.note(OTHER_WORKER, [Note(task_id, 1, 0.5, "half", ("a line",))])


async def renew(stage: Stage, task_id: str) -> None:
    renewal = Presence(stage.client, stage.config).renew(OTHER_WORKER, [(task_id, 1)])
    assert renewal.lost == [task_id]


async def cancel(stage: Stage, task_id: str) -> None:
    stage.commands.cancel(task_id, ACTOR)


async def run_now(stage: Stage, task_id: str) -> None:
    stage.commands.run_now(task_id, ACTOR)


async def requeue(stage: Stage, task_id: str) -> None:
    stage.commands.dlq_requeue(task_id, ACTOR)


async def discard(stage: Stage, task_id: str) -> None:
    stage.commands.discard(task_id, ACTOR)


async def scheduler(stage: Stage, task_id: str) -> None:
    """The scheduler finds the task due, wherever the schedule's member came from."""
    stage.client.zadd(stage.keys.schedule, {task_id: 1})
    assert await stage.release() in {0, 1}
    await stage.schedule.resign(TOKEN)


VERBS: dict[str, Verb] = {
    "claim": claim,
    **{f"finish {status}": finish(status) for status in TaskStatus},
    "finish by another worker": finish(S.SUCCEEDED, worker=OTHER_WORKER),
    "finish of an older attempt": finish(S.SUCCEEDED, behind=1),
    "finish of a later attempt": finish(S.SUCCEEDED, behind=-1),
    "reclaim": reclaim,
    "give back": give_back_to_nobody,
    "note": note,
    "renew": renew,
    "cancel": cancel,
    "run now": run_now,
    "requeue": requeue,
    "discard": discard,
    "scheduler": scheduler,
}
MOVES: dict[tuple[str, TaskStatus], str] = {
    ("claim", S.QUEUED): S.RUNNING,
    **{(f"finish {status}", S.RUNNING): status for status in VALID_TRANSITIONS[S.RUNNING]},
    ("reclaim", S.RUNNING): S.RUNNING,
    ("cancel", S.PENDING): S.CANCELLED,
    ("cancel", S.QUEUED): S.CANCELLED,
    ("cancel", S.RETRYING): S.CANCELLED,
    ("cancel", S.RUNNING): S.RUNNING,
    ("run now", S.PENDING): S.QUEUED,
    ("run now", S.RETRYING): S.QUEUED,
    ("scheduler", S.PENDING): S.QUEUED,
    ("scheduler", S.RETRYING): S.QUEUED,
    **{("requeue", status): S.QUEUED for status in REQUEUEABLE},
    **{("discard", status): GONE for status in REQUEUEABLE},
}
# What a refused verb may leave: the audit of the request, the bookkeeping of a stream that was looked at, its count.
NOISE = {
    "cancel": ("dtq:stream:audit",),
    "claim": ("dtq:stream:default", "dtq:ready", "dtq:wake", "dtq:cancelled", *COUNTS),
    **{verb: COUNTS for verb in VERBS if verb.startswith("finish")},
}


@pytest.mark.parametrize(("verb", "status"), [p for p in product(VERBS, TaskStatus) if p in MOVES])
async def test_a_listed_move_is_made(stage: Stage, verb: str, status: TaskStatus) -> None:
    task_id = await stage.task(status)
    try:
        await VERBS[verb](stage, task_id)
    except DtqError as told:
        assert (told.code, verb, status) == ("CANCEL_REQUESTED", "cancel", S.RUNNING)
    assert (stage.status(task_id) or GONE) == MOVES[verb, status]


@pytest.mark.parametrize(("verb", "status"), [p for p in product(VERBS, TaskStatus) if p not in MOVES])
async def test_any_other_move_changes_nothing(stage: Stage, verb: str, status: TaskStatus) -> None:
    task_id = await stage.task(status)
    noise = NOISE.get(verb, ())
    before = dump(stage.client, without=noise)
    try:
        await VERBS[verb](stage, task_id)
    except DtqError as refused:
        assert refused.code in {"TASK_FINISHED", "WRONG_STATUS"}
        assert refused.details["status"] == status
    assert dump(stage.client, without=noise) == before


@pytest.mark.parametrize(("verb", "status"), MOVES)
def test_the_moves_above_are_those_of_the_table(verb: str, status: TaskStatus) -> None:
    target = MOVES[verb, status]
    listed = target in VALID_TRANSITIONS[status]
    stays = status is target and verb in {"reclaim", "cancel"}
    by_an_operator = verb in {"requeue", "discard"} and status in REQUEUEABLE
    assert listed or stays or by_an_operator


def test_every_row_of_the_table_has_a_verb_or_a_time_to_live() -> None:
    reached = {(status, target) for (_, status), target in MOVES.items()}
    rows = {(status, target) for status, targets in VALID_TRANSITIONS.items() for target in targets}
    # test_expiry.py lets the time to live run out in both places.
    assert rows - reached == {(S.PENDING, S.EXPIRED), (S.QUEUED, S.EXPIRED)}
