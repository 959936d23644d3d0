"""Doorbells, and the claims that wait at the server behind them."""

from __future__ import annotations

import asyncio

import pytest

from tasks_app.domain.status import TaskStatus
from tasks_app.store.leases import ClaimReply
from tests.support.stage import WORKER, Stage
from tests.support.until import until_async

LONG_S = 4.0


class TestDoorbell:
    async def test_it_rings_for_a_submission(self, stage: Stage) -> None:
        stage.submit(queue="mail")
        assert await stage.rung(("mail",), 1.0)

    async def test_it_stays_silent_otherwise(self, stage: Stage) -> None:
        assert not await stage.rung(("mail", "other"), 0.05)
        assert not await stage.rung((), 0.05)

    async def test_a_worker_of_every_queue_hears_all_it_knows(self, stage: Stage) -> None:
        stage.submit(queue="mail")
        for _ in range(5):  # four times for the birth of the queue, once for the task
            assert await stage.rung((), 1.0)
        assert not await stage.rung((), 0.05)
        stage.submit(queue="mail")
        assert await stage.rung((), 1.0)

    async def test_a_new_queue_is_heard_from_the_next_wait_on(self, stage: Stage) -> None:
        assert not await stage.rung((), 0.05)
        stage.submit(queue="new")
        assert await stage.rung((), 1.0)
        stage.client.delete(stage.keys.wake("*"))
        stage.submit(queue="new")
        assert await stage.rung((), 1.0)

    async def test_a_queue_whose_birth_others_heard_is_known_from_its_first_task_on(self, stage: Stage) -> None:
        assert not await stage.rung((), 0.05)
        stage.submit(queue="new")
        stage.client.delete(stage.keys.wake("*"), stage.keys.wake("new"))
        assert not await stage.rung((), 0.05)  # but it has claimed the task
        stage.submit(queue="new")
        assert await stage.rung((), 1.0)

    async def test_a_retry_that_is_due_rings(self, stage: Stage) -> None:
        task_id = await stage.task(TaskStatus.RETRYING)
        stage.client.delete(stage.keys.wake("default"))
        stage.make_due(task_id)
        await stage.release()
        assert await stage.rung(("default",), 1.0)


async def waiting(stage: Stage, queues: tuple[str, ...] = ()) -> asyncio.Future[tuple[bool, ClaimReply]]:
    """A claim that stands at the server by now."""
    claim = asyncio.ensure_future(stage.leases.claim_at_bell(WORKER, queues, 10, LONG_S))
    await until_async(lambda: stage.client.info("clients")["blocked_clients"] == 1)
    return claim


@pytest.mark.real_redis
async def test_a_submission_starts_the_claim_that_waits(stage: Stage) -> None:
    claim = await waiting(stage)
    stage.client.config_resetstat()
    task_id = stage.submit()
    # The server needs nothing more from the worker: all of this is done before it has read its answer.
    await until_async(lambda: stage.status(task_id) == "running")
    rung, reply = await claim
    assert rung and [task.id for task in reply.tasks] == [task_id]
    calls = stage.client.info("commandstats")
    assert calls["cmdstat_evalsha"]["calls"] == 2  # the submission and the claim


async def test_what_waits_already_is_claimed_at_once(stage: Stage) -> None:
    task_id = stage.submit()
    rung, reply = await stage.leases.claim_at_bell(WORKER, ("default",), 10, LONG_S)
    assert rung and [task.id for task in reply.tasks] == [task_id]


async def test_the_claim_is_carried_out_without_a_bell_as_well(stage: Stage) -> None:
    task_id = stage.submit()
    stage.client.delete(*(stage.keys.wake(queue) for queue in ("*", "default")))
    rung, reply = await stage.leases.claim_at_bell(WORKER, ("default",), 10, 0.05)
    assert not rung and [task.id for task in reply.tasks] == [task_id]


async def test_it_takes_no_more_than_its_limit(stage: Stage) -> None:
    for _ in range(5):
        stage.submit()
    _, reply = await stage.leases.claim_at_bell(WORKER, (), 3, LONG_S)
    assert len(reply.tasks) == 3


@pytest.mark.real_redis
async def test_a_worker_leaves_with_what_it_was_given(stage: Stage) -> None:
    claim = await waiting(stage, ("mail",))
    await stage.leases.leave_bell("somebody else")
    assert not claim.done()
    await stage.leases.leave_bell(WORKER)
    assert await claim == (True, ClaimReply())
    stage.submit(queue="mail")
    await stage.leases.leave_bell(WORKER)
    _, reply = await stage.leases.claim_at_bell(WORKER, ("mail",), 10, LONG_S)
    assert len(reply.tasks) == 1


async def test_its_own_bell_does_not_outlive_it_by_much(stage: Stage) -> None:
    await stage.leases.leave_bell(WORKER)
    assert 0 < stage.client.pttl(stage.keys.wake("*" + WORKER)) <= 10_000


async def test_the_server_may_have_lost_the_script(stage: Stage) -> None:
    task_id = stage.submit()
    stage.client.script_flush()
    _, reply = await stage.leases.claim_at_bell(WORKER, (), 10, LONG_S)
    assert [task.id for task in reply.tasks] == [task_id]


@pytest.mark.real_redis
async def test_an_answer_lost_with_its_connection_comes_again(stage: Stage) -> None:
    claim = await waiting(stage)
    task_id = stage.submit()
    await until_async(lambda: stage.status(task_id) == TaskStatus.RUNNING)
    claim.cancel()  # its answer may be here already; nobody has taken it
    await asyncio.gather(claim, return_exceptions=True)
    assert [task.id for task in (await stage.claim()).tasks] == [task_id]


@pytest.mark.real_redis
async def test_no_claim_is_left_behind_by_a_connection_that_is_gone(stage: Stage) -> None:
    claim = await waiting(stage)
    claim.cancel()
    await asyncio.gather(claim, return_exceptions=True)
    await until_async(lambda: stage.client.info("clients")["blocked_clients"] == 0)
    task_id = stage.submit()
    assert stage.status(task_id) == "queued"
