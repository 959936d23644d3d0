"""The store and its model side by side: each rule makes one step in both and compares what they say."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from tasks_app.domain.errors import DtqError
from tasks_app.domain.status import TaskStatus
from tasks_app.store.commands import Commands
from tasks_app.store.keys import Keys
from tasks_app.store.leases import Finish, Leases
from tasks_app.store.presence import Presence
from tasks_app.store.schedule import Schedule
from tests.properties.model import SCHEDULED, Model, Run
from tests.support import invariants
from tests.support.backend import Backend
from tests.support.builders import ACTOR, make_config, make_submission
from tests.support.keyspace import COUNTS, RawClient, dump
from tests.support.stage import HOUR_MS, TOKEN, Stage

S = TaskStatus
T = TypeVar("T")
# Nothing may happen by itself while a test is slow: leases end, tasks come due and claims age when a rule says so.
CONFIG = make_config(visibility_timeout_s=3600.0, heartbeat_interval_s=1.0)
ORDERS = st.sampled_from([("a",), ("b",), ("a", "b"), ("b", "a")])
WORKERS = st.sampled_from(["w1", "w2", "w3"])
LIMITS = st.integers(0, 4)
ENDS = st.sampled_from([S.SUCCEEDED, S.RETRYING, S.FAILED, S.DEAD_LETTERED, S.CANCELLED])
Where = Callable[[Run], bool]


class Lifecycle(RuleBasedStateMachine):
    """Random lives of many tasks at once, with every invariant checked after every step."""

    backend: ClassVar[Backend]

    def __init__(self) -> None:
        super().__init__()
        self.backend.reset()
        self.runner = asyncio.Runner()
        self.client: RawClient = self.backend.client()
        self.aio = self.backend.async_client()
        self.keys = Keys(CONFIG.key_prefix)
        self.presence = Presence(self.client, CONFIG)
        self.stage = Stage(
            self.client,
            CONFIG,
            Commands(self.client, CONFIG),
            Leases(self.aio, CONFIG),
            Schedule(self.aio, CONFIG),
        )
        self.model = Model()

    def teardown(self) -> None:
        self.run(self.aio.aclose())
        self.runner.close()
        self.client.close()

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(step)

    def pick(self, data: st.DataObject, where: Where = lambda run: True) -> Run | None:
        found = [run for run in self.model.tasks.values() if where(run)]  # by birth, so that a replay finds the same
        return data.draw(st.sampled_from(found)) if found else None

    def hears(self, expected: str, act: Callable[[], object]) -> None:
        """Let ``act`` be answered with that word. A refusal leaves every key as it was, but for the audit of it."""
        refused = expected not in {"OK", "CANCEL_REQUESTED"}
        before = dump(self.client, without=(self.keys.audit,)) if refused else None
        word = "OK"
        try:
            act()
        except DtqError as refusal:
            word = refusal.code
        assert word == expected
        assert before is None or before == dump(self.client, without=(self.keys.audit,))

    @initialize()
    def open_the_queues(self) -> None:
        for queue in "ab":
            self.submit(queue, 5, 0, 1, None, False)

    @rule(
        queue=st.sampled_from("ab"),
        priority=st.sampled_from([0, 5, 9]),
        delay_ms=st.sampled_from([0, 0, 0, HOUR_MS]),
        max_attempts=st.integers(1, 3),
        key=st.sampled_from([None, None, "k", "l"]),
        mortal=st.booleans(),
    )
    def submit(
        self, queue: str, priority: int, delay_ms: int, max_attempts: int, key: str | None, mortal: bool
    ) -> None:
        submission = make_submission(
            queue=queue,
            priority=priority,
            delay_ms=delay_ms,
            max_attempts=max_attempts,
            idempotency_key=key,
            ttl_ms=HOUR_MS if mortal else None,
            metadata_json='{"ttl_seconds":3600}' if mortal else "{}",
        )
        holder = self.model.holder(queue, key)
        if holder and not holder.status.is_terminal:
            self.hears("IDEMPOTENCY_IN_PROGRESS", lambda: self.stage.commands.submit(submission))
            return
        receipt = self.stage.commands.submit(submission)
        assert receipt.duplicate == (holder is not None)
        if holder:
            assert (receipt.task.id, receipt.task.status) == (holder.id, holder.status)
            return
        status = S.PENDING if delay_ms else S.QUEUED
        self.model.born(Run(receipt.task.id, queue, priority, max_attempts, key, mortal, status))

    @rule(worker=WORKERS, queues=ORDERS, limit=LIMITS)
    def claim(self, worker: str, queues: tuple[str, ...], limit: int) -> None:
        reply = self.run(self.stage.leases.claim(worker, queues, limit))
        assert [task.id for task in reply.tasks] == self.model.claim(worker, queues, limit)
        assert {absorbed.reason for absorbed in reply.absorbed} <= {"expired"}

    @rule(data=st.data(), status=ENDS, delay_ms=st.sampled_from([0, HOUR_MS]))
    def finish(self, data: st.DataObject, status: TaskStatus, delay_ms: int) -> None:
        run = self.pick(data, lambda r: r.status is S.RUNNING)
        if run:
            if status is S.RETRYING and run.attempt == run.max_attempts:
                status = S.DEAD_LETTERED  # decide() never retries a last attempt
            end = Finish(run.id, run.attempt, status, "failed", HOUR_MS, "1", "E", f"no {delay_ms}", "T")
            assert self.run(self.stage.leases.finish(run.worker, [end])) == [self.model.finish(run, status)]

    @rule(data=st.data(), status=ENDS, worker=WORKERS, attempt=st.integers(0, 4))
    def finish_what_is_not_ours(self, data: st.DataObject, status: TaskStatus, worker: str, attempt: int) -> None:
        run = self.pick(data, lambda r: (r.status, r.worker, r.attempt) != (S.RUNNING, worker, attempt))
        if run:
            before = dump(self.client, without=COUNTS)
            end = Finish(run.id, attempt, status, "failed", 0, "1", "E", "no", "T")
            assert self.run(self.stage.leases.finish(worker, [end])) == ["LEASE_LOST"]
            assert self.presence.renew(worker, [(run.id, attempt)]).lost == [run.id]
            assert self.run(self.stage.leases.give_back(worker, [(run.id, attempt)])) == 0
            assert dump(self.client, without=COUNTS) == before

    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        run = self.pick(data, lambda r: r.status is S.RUNNING)
        if run:
            renewal = self.presence.renew(run.worker, [(run.id, run.attempt)])
            assert (renewal.lost, renewal.cancel) == ([], [run.id] if run.cancelling else [])

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        run = self.pick(data, lambda r: r.status is S.RUNNING)
        if run:
            self.stage.lapse(run.id)

    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        run = self.pick(data, lambda r: r.status is S.RUNNING)
        if run:
            assert self.run(self.stage.leases.give_back(run.worker, [(run.id, run.attempt)])) == 1
            run.given_back = True

    @rule(worker=WORKERS, queues=ORDERS, limit=LIMITS)
    def reclaim(self, worker: str, queues: tuple[str, ...], limit: int) -> None:
        now = self.client.time()[0] * 1000 + 1000
        lapsed = [raw.decode() for raw in self.client.zrangebyscore(self.keys.leases, "-inf", now)]
        reply = self.run(self.stage.leases.reclaim(worker, queues, limit))
        adopted = self.model.reclaim(worker, queues, limit, lapsed)
        assert [(task.id, task.attempt) for task in reply.tasks] == [(i, self.model.tasks[i].attempt) for i in adopted]
        # The leases of a paused queue's tasks were put off for a second: put them off for good.
        for task_id in self.client.zrange(self.keys.leases, 0, -1):
            run = self.model.tasks[task_id.decode()]
            if run.queue in self.model.paused:
                self.client.zadd(self.keys.leases, {run.id: now + HOUR_MS})

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        if run := self.pick(data):
            self.hears(self.model.cancel(run), lambda: self.stage.commands.cancel(run.id, ACTOR))

    @rule(data=st.data(), release=st.booleans())
    def come_due(self, data: st.DataObject, release: bool) -> None:
        run = self.pick(data, lambda r: r.status in SCHEDULED and not r.claimed)
        if run:
            self.stage.make_due(run.id)
            self.run(self.stage.lead())
            assert self.run(self.stage.schedule.claim_due(TOKEN, 10)).ids == [run.id]
            run.claimed = True
            if release:
                assert self.run(self.stage.schedule.requeue_claimed(TOKEN, [run.id])) == 1
                self.model.send(run)

    @rule()
    def return_old_claims(self) -> None:
        claimed = [run for run in self.model.tasks.values() if run.claimed]
        for run in claimed:
            self.client.zadd(self.keys.claimed, {run.id: 1})
        self.run(self.stage.lead())
        assert self.run(self.stage.schedule.return_claims(TOKEN)) == len(claimed)
        for run in claimed:
            run.claimed = False
            self.client.zadd(self.keys.schedule, {run.id: 2**45})

    @rule(data=st.data())
    def run_now(self, data: st.DataObject) -> None:
        if run := self.pick(data):
            scheduled = run.status in SCHEDULED
            word = "OK" if scheduled else "WRONG_STATUS"
            self.hears(word, lambda: self.stage.commands.run_now(run.id, ACTOR))
            if scheduled:
                self.model.send(run)

    @rule(data=st.data())
    def outlive(self, data: st.DataObject) -> None:
        run = self.pick(data, lambda r: r.mortal and not r.status.is_terminal)
        if run:
            self.stage.outlive_ttl(run.id)
            run.expired = True

    @rule(data=st.data())
    def requeue(self, data: st.DataObject) -> None:
        if run := self.pick(data):
            self.hears(self.model.requeue(run), lambda: self.stage.commands.dlq_requeue(run.id, ACTOR))

    @rule(data=st.data())
    def discard(self, data: st.DataObject) -> None:
        if run := self.pick(data):
            self.hears(self.model.discard(run), lambda: self.stage.commands.discard(run.id, ACTOR))

    @rule()
    def purge_the_dead(self) -> None:
        assert self.stage.commands.purge_dlq(ACTOR).done == self.model.purge_dead()

    @rule(queue=st.sampled_from("ab"))
    def purge(self, queue: str) -> None:
        assert self.stage.commands.purge_queue(queue, ACTOR).done == self.model.purge(queue)

    @rule(queue=st.sampled_from("ab"))
    def pause_or_resume(self, queue: str) -> None:
        if queue in self.model.paused:
            self.stage.commands.resume(queue, ACTOR)
        else:
            self.stage.commands.pause(queue, ACTOR)
        self.model.paused ^= {queue}

    @precondition(lambda self: self.model.tasks)
    @rule(data=st.data())
    def retention_ends(self, data: st.DataObject) -> None:
        run = self.pick(data, lambda r: r.status.is_terminal)
        if run:
            latest: dict[str, bytes] = {}
            for member in self.client.zrange(self.keys.retention, 0, -1):
                latest |= {token.split("@")[0]: member for token in member.decode().split(" ")[3:]}
            # What ended in one call is remembered together, and its records expire together.
            for other in [r for r in self.model.tasks.values() if latest.get(r.id) == latest[run.id]]:
                if other.status.is_terminal:
                    k = self.keys
                    self.client.delete(k.task(other.id), k.attempts(other.id), k.log(other.id))
                    self.model.forget(other)
            self.client.zadd(self.keys.retention, {latest[run.id]: 1})
            self.run(self.stage.sweep())

    @rule(queue=st.sampled_from("ab"), priority=st.sampled_from([0, 5, 9]), whole=st.booleans())
    def lose_a_stream_or_its_group(self, queue: str, priority: int, whole: bool) -> None:
        stream = self.keys.stream(queue, priority)
        lane = [r for r in self.model.tasks.values() if (r.queue, r.priority) == (queue, priority)]
        if not self.client.exists(stream) or any(run.status is S.RUNNING for run in lane):
            return
        if whole and sum(run.status is S.QUEUED for run in lane) < 2:  # more come back sorted by id, not by place
            self.client.delete(stream)
        elif self.client.xinfo_groups(stream):
            self.client.xgroup_destroy(stream, "workers")
        self.run(self.stage.sweep())

    @rule()
    def upkeep(self) -> None:
        self.run(self.stage.sweep())

    @rule()
    def lose_the_scripts(self) -> None:
        self.client.script_flush()

    @invariant()
    def records_are_what_the_model_says(self) -> None:
        records = {task_id: self.stage.record(task_id) for task_id in self.model.tasks}
        told = {i: (r.get("status"), int(r.get("attempt", 0)), "cancel_requested" in r) for i, r in records.items()}
        assert told == {run.id: (run.status, run.attempt, run.cancelling) for run in self.model.tasks.values()}

    @invariant()
    def everything_agrees(self) -> None:
        invariants.check(self.client, self.keys)
