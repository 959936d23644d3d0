"""What the read side says of tasks, dead letters, the audit, queues, workers and the server."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tasks_app.domain.errors import NotFound
from tasks_app.domain.snapshot import Pause
from tasks_app.domain.status import TaskStatus
from tasks_app.store.connections import connect
from tasks_app.store.leases import LOG_LINE_CHARS, Note
from tasks_app.store.presence import Presence
from tasks_app.store.queries import Queries
from tests.store.test_sweep import beat
from tests.support.builders import ACTOR, make_config
from tests.support.server import PrivateServer
from tests.support.stage import OTHER_WORKER, WORKER, Stage
from tests.support.until import until


def test_an_empty_server_has_an_answer_to_everything(queries: Queries) -> None:
    queries.ping()
    for ask_all in (queries.queues, queries.workers, queries.task_types, queries.dead_letter_groups):
        assert ask_all() == []
    assert not queries.dead_letters().items and not queries.audit().items
    assert queries.counts() == dict.fromkeys(TaskStatus, 0)
    assert queries.leader() is None
    for ask in (queries.task, queries.detail, queries.queue, queries.worker):
        with pytest.raises(NotFound):
            ask("nothing")


async def test_counts_by_status_queue_and_type(stage: Stage, queries: Queries) -> None:
    await stage.one_of_each(queue="mail", task_type="send")
    await stage.one_of_each(queue="other", task_type="noop")
    assert queries.counts() == dict.fromkeys(TaskStatus, 2)
    for counts in (queries.counts(queue="mail"), queries.counts(task_type="noop")):
        assert counts == dict.fromkeys(TaskStatus, 1)
    assert queries.counts(queue="nowhere") == queries.counts(task_type="nothing") == dict.fromkeys(TaskStatus, 0)


class TestNotes:
    async def test_progress_and_log_lines_are_kept(self, stage: Stage, queries: Queries) -> None:
        task = await stage.running()
        await stage.leases.note(WORKER, [Note(task.id, 1, 0.25, "a quarter", ("one: 漢", "two"))])
        await stage.leases.note(WORKER, [Note(task.id, 1, lines=("three with  spaces",)), Note(task.id, 1, 0.5)])
        detail = queries.detail(task.id)
        assert (detail.task.progress, detail.task.progress_note) == (0.5, None)
        assert [(line.attempt, line.message) for line in detail.log] == [
            (1, "one: 漢"),
            (1, "two"),
            (1, "three with  spaces"),
        ]
        assert all(line.at >= (detail.task.started_at or 0) for line in detail.log)

    async def test_they_are_capped(self, stage: Stage, queries: Queries) -> None:
        task = await stage.running()
        await stage.leases.note(WORKER, [Note(task.id, 1, 1.0, "x" * 1000, tuple(f"line {i}" for i in range(600)))])
        await stage.leases.note(WORKER, [Note(task.id, 1, lines=("y" * 5000,))])
        detail = queries.detail(task.id)
        assert len(detail.log) == 500
        assert detail.log[0].message == "line 101"
        assert detail.log[-1].message == "y" * LOG_LINE_CHARS + " … (cut)"
        assert detail.task.progress_note == "x" * 200

    async def test_those_of_a_lost_attempt_are_dropped(self, stage: Stage, queries: Queries) -> None:
        task = await stage.running()
        await stage.leases.note(OTHER_WORKER, [Note(task.id, 1, 0.5, "theirs", ("theirs",))])
        await stage.leases.note(WORKER, [Note(task.id, 2, 0.5, "later", ("later",)), Note(task.id, 1, 0.75)])
        detail = queries.detail(task.id)
        assert (detail.task.progress, detail.log) == (0.75, [])

    async def test_no_notes_no_call(self, stage: Stage) -> None:
        await stage.leases.note(WORKER, [])


class TestHistory:
    async def test_a_task_that_never_ran_has_none(self, stage: Stage, queries: Queries) -> None:
        for status in (TaskStatus.PENDING, TaskStatus.QUEUED, TaskStatus.EXPIRED, TaskStatus.CANCELLED):
            detail = queries.detail(await stage.task(status))
            assert (detail.attempts, detail.log) == ([], [])

    @pytest.mark.parametrize(
        ("status", "outcome"),
        [
            (TaskStatus.RUNNING, "running"),
            (TaskStatus.SUCCEEDED, "succeeded"),
            (TaskStatus.RETRYING, "failed"),
            (TaskStatus.FAILED, "failed"),
            (TaskStatus.DEAD_LETTERED, "failed"),
        ],
    )
    async def test_the_first_attempt(self, stage: Stage, queries: Queries, status: TaskStatus, outcome: str) -> None:
        [attempt] = queries.detail(await stage.task(status)).attempts
        assert (attempt.number, attempt.outcome, attempt.worker_id) == (1, outcome, WORKER)
        assert (attempt.ended_at is None) == (status is TaskStatus.RUNNING)
        assert (attempt.error_class == "ValueError") == (outcome == "failed")

    async def test_waiting_for_the_next_attempt_adds_none(self, stage: Stage, queries: Queries) -> None:
        task_id = await stage.task(TaskStatus.RETRYING)
        stage.commands.run_now(task_id, ACTOR)
        assert [a.outcome for a in queries.detail(task_id).attempts] == ["failed"]
        stage.commands.cancel(task_id, ACTOR)
        assert [a.outcome for a in queries.detail(task_id).attempts] == ["failed"]

    async def test_a_long_traceback_travels(self, stage: Stage, queries: Queries) -> None:
        task = await stage.running()
        await stage.finish(task, TaskStatus.FAILED, traceback='Trace "quoted" \\ back\n' + "漢" * 10_000)
        [attempt] = queries.detail(task.id).attempts
        assert attempt.traceback == 'Trace "quoted" \\ back\n' + "漢" * 10_000


class TestDeadLetters:
    async def test_pages_newest_first(self, stage: Stage, queries: Queries) -> None:
        dead = [await stage.task(TaskStatus.DEAD_LETTERED) for _ in range(7)]
        [group] = queries.dead_letter_groups()
        for fingerprint in (None, group.fingerprint):
            seen: list[str] = []
            cursor: str | None = None
            for _ in range(3):
                page = queries.dead_letters(cursor, 3, fingerprint)
                seen += [letter.task_id for letter in page.items]
                cursor = page.next
            assert cursor is None
            assert seen == (list(reversed(dead)) if fingerprint is None else sorted(dead, reverse=True))

    async def test_those_of_a_cause_carry_the_same_facts(self, stage: Stage, queries: Queries) -> None:
        await stage.task(TaskStatus.DEAD_LETTERED)
        [letter] = queries.dead_letters().items
        [same] = queries.dead_letters(fingerprint=letter.fingerprint).items
        for name in ("task_id", "task_type", "queue", "attempts", "error_class", "error_message", "worker_id"):
            assert getattr(same, name) == getattr(letter, name)
        assert same.failed_at == letter.failed_at
        assert queries.dead_letters(fingerprint="f00").items == []

    async def test_a_letter_without_its_fields_is_still_a_letter(self, stage: Stage, queries: Queries) -> None:
        entry = stage.client.xadd(stage.keys.dead_letters, {"odd": b"\xff", "attempts": "many"})
        [letter] = queries.dead_letters().items
        assert (letter.task_id, letter.attempts, letter.error_class) == ("", 0, "")
        assert letter.failed_at == int(entry.split(b"-")[0])
        stage.client.delete(stage.keys.dead_letters)


class TestAudit:
    async def test_pages_newest_first(self, stage: Stage, queries: Queries) -> None:
        ids = [stage.submit() for _ in range(5)]
        for task_id in ids:
            stage.commands.cancel(task_id, ACTOR)
        first = queries.audit(limit=3)
        second = queries.audit(first.next, limit=3)
        assert [entry.task_id for entry in (*first.items, *second.items)] == ids[::-1]
        assert second.next is None

    async def test_of_one_task(self, stage: Stage, queries: Queries) -> None:
        mine, other = await stage.task(TaskStatus.DEAD_LETTERED), stage.submit()
        stage.commands.dlq_requeue(mine, ACTOR)
        stage.commands.cancel(other, ACTOR)
        stage.commands.cancel(mine, ACTOR)
        assert [entry.action for entry in queries.audit(task_id=mine).items] == ["cancel", "requeue"]
        assert queries.audit(task_id=mine).next is None

    async def test_an_entry_without_its_fields_is_still_an_entry(self, stage: Stage, queries: Queries) -> None:
        entry = stage.client.xadd(stage.keys.audit, {"odd": b"\xff"})
        [read] = queries.audit().items
        assert (read.actor, read.action, read.at) == ("", "", int(entry.split(b"-")[0]))


class TestQueues:
    async def test_counts_per_queue(self, stage: Stage, queries: Queries) -> None:
        await stage.one_of_each(queue="mail")
        stage.submit(queue="a")
        a, mail = queries.queues()
        assert (a.name, a.queued, a.running) == ("a", 1, 0)
        assert (mail.queued, mail.pending, mail.retrying, mail.running, mail.dead_lettered) == (1, 1, 1, 1, 1)
        assert (a.pause, a.bands) == (None, {})

    async def test_bands_count_what_waits(self, stage: Stage, queries: Queries) -> None:
        for priority in (9, 9, 0, 5):
            stage.submit(priority=priority)
        await stage.claim(limit=1)
        assert queries.queue("default").bands == {9: 1, 8: 0, 7: 0, 6: 0, 5: 1, 4: 0, 3: 0, 2: 0, 1: 0, 0: 1}

    async def test_the_oldest_wait_counts_from_the_stream_and_not_from_birth(
        self, stage: Stage, queries: Queries, damaged: set[str]
    ) -> None:
        stage.submit(priority=9)
        damaged.add("x")
        entry = stage.client.xadd(stage.keys.stream("default", 0), {"task_id": "x", "attempt": 1}, id="1000-0")
        assert queries.queue("default").oldest_at is not None
        stage.client.sadd(stage.keys.ready, "default:p0")
        assert queries.queue("default").oldest_at == queries.queues()[0].oldest_at == 1000
        stage.client.xdel(stage.keys.stream("default", 0), entry)
        stage.client.srem(stage.keys.ready, "default:p0")

    async def test_a_requeued_task_waits_from_its_requeue(self, stage: Stage, queries: Queries) -> None:
        task_id = await stage.task(TaskStatus.DEAD_LETTERED)
        born = queries.task(task_id).created_at
        until(lambda: queries.now() > born + 1, what="its birth is over")
        stage.commands.dlq_requeue(task_id, ACTOR)
        oldest = queries.queue("default").oldest_at
        assert oldest is not None and oldest > born
        assert [info.oldest_at for info in queries.queues()] == [oldest]

    async def test_nobody_waits_once_all_are_claimed(self, stage: Stage, queries: Queries) -> None:
        stage.submit()
        await stage.claim()
        assert queries.queue("default").oldest_at is None

    def test_a_key_of_another_kind_has_no_age(self, stage: Stage, queries: Queries) -> None:
        stage.submit(queue="a")
        stage.client.sadd(stage.keys.ready, "a:p0")
        stage.client.set(stage.keys.stream("a", 0), "odd")
        assert queries.queues()[0].oldest_at is not None
        stage.client.delete(stage.keys.stream("a", 0))
        stage.client.srem(stage.keys.ready, "a:p0")

    def test_a_pause_is_told(self, stage: Stage, queries: Queries) -> None:
        stage.submit()
        until = (stage.client.time()[0] + 3600) * 1000
        stage.commands.pause("default", ACTOR, "deploy: 漢", until)
        pause = queries.queue("default").pause
        assert pause == Pause(by="tester", at=pause.at if pause else 0, reason="deploy: 漢", until=until)
        assert 0 < stage.client.pttl(stage.keys.paused("default")) <= 3_600_000
        stage.commands.pause("default", ACTOR)
        pause = queries.queues()[0].pause
        assert pause is not None and (pause.reason, pause.until) == ("", None)
        stage.commands.resume("default", ACTOR)
        assert queries.queue("default").pause is None
        assert [(e.action, e.target) for e in queries.audit().items] == [
            ("resume", "queue:default"),
            ("pause", "queue:default"),
            ("pause", "queue:default"),
        ]

    def test_only_known_queues_are_paused(self, stage: Stage) -> None:
        for act in (stage.commands.pause, stage.commands.resume):
            with pytest.raises(NotFound):
                act("nowhere", ACTOR)


class TestWorkers:
    def test_a_heartbeat_is_told(self, stage: Stage, queries: Queries, presence: Presence) -> None:
        presence.heartbeat(
            beat("w1", queues=("a", "b"), running=("t1", "t2"), note="busy: 漢", occupied=2, processed=7, failed=1)
        )
        worker = queries.worker("w1")
        assert (worker.host, worker.pid, worker.version, worker.started_at) == ("h", 7, "1.2", 1500)
        assert (worker.state, worker.concurrency, worker.occupied) == ("ready", 10, 2)
        assert (worker.queues, worker.running, worker.note) == (("a", "b"), ("t1", "t2"), "busy: 漢")
        assert (worker.processed, worker.failed) == (7, 1)
        assert abs(worker.seen_at - time.time() * 1000) < 60_000
        assert 0 < stage.client.pttl(stage.keys.worker("w1")) <= stage.config.heartbeat_interval_s * 3000

    def test_one_that_missed_beats_is_late_then_gone(self, stage: Stage, queries: Queries, presence: Presence) -> None:
        presence.heartbeat(beat("w1"))
        seen = queries.worker("w1").seen_at
        stage.client.zadd(stage.keys.workers, {"w1": seen - 8000})
        assert queries.worker("w1").state == "late"
        stage.client.delete(stage.keys.worker("w1"))
        assert queries.worker("w1").state == "gone"

    def test_one_that_left_is_off_the_list(self, queries: Queries, presence: Presence) -> None:
        presence.heartbeat(beat("w1"))
        presence.heartbeat(beat("w2"))
        presence.leave("w1")
        assert [worker.id for worker in queries.workers()] == ["w2"]


@pytest.mark.real_redis
def test_the_server_is_described(queries: Queries) -> None:
    server = queries.server()
    assert server.product in {"Redis", "Valkey"}
    assert server.version[0].isdigit()
    assert server.used_memory > 0 and server.clients > 0
    assert (server.max_memory, server.eviction_policy, server.aof, server.snapshots) == (0, "noeviction", False, False)
    assert abs(server.now - time.time() * 1000) < 60_000


@pytest.mark.real_redis
def test_a_server_that_keeps_its_settings_to_itself(make_server: Callable[..., PrivateServer]) -> None:
    client = connect(make_server().url)
    client.execute_command("ACL", "SETUSER", "default", "-config")
    assert Queries(client, make_config()).server().snapshots is None
    client.close()
