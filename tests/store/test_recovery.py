"""What the store survives: a lost script cache, lost groups and streams, a restart, a server that refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.domain.status import TaskStatus
from tasks_app.store.commands import Commands
from tasks_app.store.connections import connect
from tasks_app.store.queries import Queries
from tests.support.builders import ACTOR, make_config, make_submission
from tests.support.keyspace import dump
from tests.support.server import PrivateServer
from tests.support.stage import OTHER_WORKER, WORKER, Stage, staged


async def test_a_flushed_script_cache_is_filled_again(stage: Stage) -> None:
    task = await stage.running()
    stage.client.script_flush()
    stage.submit()
    stage.client.script_flush()
    assert await stage.finish(task, TaskStatus.SUCCEEDED) == "succeeded"


class TestLostGroup:
    """`NOGROUP`, whoever meets it first; the group comes back from 0, so what waits is seen."""

    @pytest.fixture
    def stream(self, stage: Stage) -> str:
        return stage.keys.stream("default", 5)

    async def test_a_claim_meets_it(self, stage: Stage, stream: str) -> None:
        await stage.finish(await stage.running(), TaskStatus.SUCCEEDED)
        waiting = stage.submit()
        stage.client.xgroup_destroy(stream, "workers")
        later = stage.submit()
        assert [task.id for task in (await stage.claim()).tasks] == [waiting, later]

    async def test_running_tasks_are_not_run_again(self, stage: Stage, stream: str) -> None:
        task = await stage.running()
        stage.client.xgroup_destroy(stream, "workers")
        waiting = stage.submit()
        reply = await stage.claim(OTHER_WORKER)
        assert [t.id for t in reply.tasks] == [waiting]
        assert reply.absorbed == []
        assert await stage.finish(task, TaskStatus.SUCCEEDED) == "succeeded"
        assert len(stage.entries()) == 1
        assert await stage.finish(reply.tasks[0], TaskStatus.SUCCEEDED, OTHER_WORKER) == "succeeded"

    async def test_a_finish_meets_it(self, stage: Stage, stream: str) -> None:
        task = await stage.running()
        stage.client.xgroup_destroy(stream, "workers")
        assert await stage.finish(task, TaskStatus.SUCCEEDED) == "succeeded"
        assert stage.entries() == []

    async def test_a_reclaim_meets_it(self, stage: Stage, stream: str) -> None:
        task = await stage.running()
        waiting = stage.submit()
        stage.client.xgroup_destroy(stream, "workers")
        stage.lapse(task.id)
        [again] = (await stage.leases.reclaim(OTHER_WORKER, (), 5)).tasks
        assert again.attempt == 2
        assert [t.id for t in (await stage.claim(OTHER_WORKER)).tasks] == [waiting]
        assert await stage.finish(again, TaskStatus.SUCCEEDED, OTHER_WORKER) == "succeeded"

    async def test_the_sweep_meets_it(self, stage: Stage, stream: str) -> None:
        await stage.finish(await stage.running(), TaskStatus.SUCCEEDED)
        stage.submit()
        stage.client.xgroup_destroy(stream, "workers")
        await stage.sweep()
        assert len((await stage.claim()).tasks) == 1


class TestLostStream:
    async def test_running_tasks_finish_all_the_same(self, stage: Stage) -> None:
        task = await stage.running()
        stage.client.delete(stage.keys.stream("default", 5))
        assert await stage.finish(task, TaskStatus.SUCCEEDED) == "succeeded"

    async def test_lost_tasks_are_re_adopted_all_the_same(self, stage: Stage) -> None:
        task = await stage.running()
        stage.client.delete(stage.keys.stream("default", 5))
        stage.lapse(task.id)
        [again] = (await stage.leases.reclaim(OTHER_WORKER, (), 5)).tasks
        assert await stage.finish(again, TaskStatus.SUCCEEDED, OTHER_WORKER) == "succeeded"

    async def test_submissions_in_the_gap_run(self, stage: Stage) -> None:
        await stage.finish(await stage.running(), TaskStatus.SUCCEEDED)
        stage.client.delete(stage.keys.stream("default", 5))
        task_id = stage.submit()
        assert [task.id for task in (await stage.claim()).tasks] == [task_id]

    async def test_everything_flushed_is_a_new_start(self, stage: Stage) -> None:
        zombie = await stage.running()
        stage.client.flushall()
        assert (await stage.claim()).tasks == []
        assert await stage.finish(zombie, TaskStatus.SUCCEEDED) == "LEASE_LOST"
        task_id = stage.submit()
        assert [task.id for task in (await stage.claim()).tasks] == [task_id]


@pytest.mark.real_redis
async def test_a_restart_with_aof_loses_nothing(aof_server: PrivateServer) -> None:
    async with staged(aof_server.url, make_config()) as stage:
        ids = {status: await stage.task(status, queue=f"q-{status.replace('_', '-')}") for status in TaskStatus}
        aof_server.kill()
        with pytest.raises(StoreUnavailable):
            stage.submit()
        with pytest.raises(StoreUnavailable):
            await stage.claim()
        aof_server.start()
        assert {status: stage.status(task_id) for status, task_id in ids.items()} == {s: str(s) for s in TaskStatus}
        assert [t.id for t in (await stage.claim(OTHER_WORKER)).tasks] == [ids[TaskStatus.QUEUED]]
        stage.lapse(ids[TaskStatus.RUNNING])
        [again] = (await stage.leases.reclaim(OTHER_WORKER, ("q-running",), 5)).tasks
        assert again.attempt == 2


@pytest.mark.real_redis
class TestRefusals:
    """A server that cannot write: submissions are refused whole, and what runs can still end."""

    async def test_out_of_memory(self, make_server: Callable[..., PrivateServer]) -> None:
        async with staged(make_server().url, make_config()) as stage:
            done, lost, retried = [await stage.running() for _ in range(3)]
            waiting, pending = stage.submit(), await stage.task(TaskStatus.PENDING)
            stage.make_due(pending)
            stage.lapse(lost.id)
            stage.commands.probe()
            before = dump(stage.client)
            stage.client.config_set("maxmemory", 1)
            with pytest.raises(StoreUnavailable, match="out of memory"):
                stage.commands.probe()
            with pytest.raises(StoreUnavailable, match="out of memory"):
                stage.submit()
            with pytest.raises(StoreUnavailable, match="out of memory"):
                stage.commands.submit_many([make_submission()] * 10)
            assert dump(stage.client) == before
            assert await stage.finish(done, TaskStatus.SUCCEEDED) == "succeeded"
            assert await stage.finish(retried, TaskStatus.RETRYING) == "retrying"
            assert len((await stage.leases.reclaim(WORKER, (), 5)).tasks) == 1
            assert await stage.release() == 2
            started = (await stage.claim()).tasks
            assert {task.id for task in started} == {waiting, pending, retried.id}
            told = stage.commands.cancel_many([task.id for task in started], ACTOR)
            assert {error and error.code for error in told.values()} == {"CANCEL_REQUESTED"}
            assert await stage.finish(started[0], TaskStatus.CANCELLED) == "cancelled"
            stage.commands.pause("default", ACTOR)
            stage.commands.resume("default", ACTOR)
            stage.client.config_set("maxmemory", 0)
            stage.submit()

    def test_a_replica(self, make_server: Callable[..., PrivateServer]) -> None:
        server = make_server()
        client = connect(server.url)
        client.replicaof("127.0.0.1", "1")
        commands = Commands(client, make_config())
        for ask in (lambda: commands.submit(make_submission()), commands.probe):
            with pytest.raises(StoreUnavailable, match="replica"):
                ask()
        client.close()

    def test_a_server_that_is_gone(self, make_server: Callable[..., PrivateServer]) -> None:
        server = make_server()
        client = connect(server.url)
        commands, queries = Commands(client, make_config()), Queries(client, make_config())
        queries.ping()
        server.stop()
        for ask in (lambda: commands.submit(make_submission()), queries.ping, queries.queues, queries.workers):
            with pytest.raises(StoreUnavailable, match="cannot be reached"):
                ask()
        server.start()
        queries.ping()
        client.close()

    def test_a_server_that_hangs(self, make_server: Callable[..., PrivateServer]) -> None:
        server = make_server()
        client = connect(server.url, timeout_s=0.2)
        other = redis.Redis.from_url(server.url, protocol=2)
        other.execute_command("CLIENT", "PAUSE", 60_000, "ALL")
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            Commands(client, make_config()).submit(make_submission())
        client.close()
        other.close()
