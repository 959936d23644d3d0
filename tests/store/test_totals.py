"""Counters that never fall: minutes that are added once, whatever happens between two reads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.status import TaskStatus
from tasks_app.store import totals
from tasks_app.store.metrics import Observer
from tasks_app.store.scripts import OTHER_TYPES, Scripts
from tasks_app.store.totals import Pair, add_up, by_series
from tasks_app.store.waiting import Waiting
from tests.support.builders import ACTOR
from tests.support.stage import OTHER_WORKER, TOKEN, WORKER, Stage

KEPT_MINUTES = 480


@pytest.fixture
def observer(stage: Stage) -> Observer:
    return Observer(stage.client, stage.config)


@pytest.fixture
def waiting(stage: Stage) -> Waiting:
    return Waiting(stage.client, stage.config)


def plant(stage: Stage, ago: int, **fields: int) -> int:
    """Statistics of a minute that ended some minutes ago; which one that is."""
    minute = stage.minute() - ago
    key = stage.keys.stats("m", minute)
    stage.client.hset(key, mapping={name.replace("__", "|"): value for name, value in fields.items()})
    stage.client.expire(key, 600)
    return minute


async def fold(stage: Stage) -> None:
    await stage.lead()
    await stage.schedule.sample(TOKEN)


class TestTotals:
    async def test_they_hold_what_happened(self, stage: Stage, observer: Observer) -> None:
        await stage.one_of_each(queue="mail", task_type="send")
        counted = observer.totals()["mail", "send"]
        assert (counted["submitted"], counted["running"], counted["ws"] >= 0) == (9, 5, True)
        ends = ("succeeded", "failed", "dead_lettered", "cancelled", "expired", "retrying")
        assert [counted[end] for end in ends] == [1] * 6

    async def test_they_hold_what_started_nothing_and_what_came_too_late(
        self, stage: Stage, observer: Observer
    ) -> None:
        zombie = await stage.running(queue="mail", task_type="send")
        lane = stage.keys.stream("mail", 5)
        for task_id in (zombie.id, "0" * 32):
            stage.client.xadd(lane, {"task_id": task_id, "attempt": 1})
        stage.client.sadd(stage.keys.ready, "mail:p5")
        await stage.claim()
        stage.lapse(zombie.id)
        await stage.leases.reclaim(OTHER_WORKER, (), 5)
        for _ in range(2):
            await stage.finish(zombie, TaskStatus.SUCCEEDED)
        counted = observer.totals()
        assert [counted["mail", "send"][measure] for measure in ("absorbed", "lost", "dropped")] == [1, 1, 2]
        assert counted["mail", OTHER_TYPES] == {"absorbed": 1}

    async def test_what_went_well_is_no_loss(self, stage: Stage, observer: Observer) -> None:
        """Nor is an outcome that comes twice as its answer was lost, a task given back, or one that has expired."""
        done, given = await stage.running(), await stage.running()
        await stage.finish(done, TaskStatus.SUCCEEDED)
        await stage.finish(done, TaskStatus.SUCCEEDED)
        await stage.leases.give_back(WORKER, [(given.id, given.attempt)])
        await stage.leases.reclaim(OTHER_WORKER, (), 5)
        await stage.task(TaskStatus.EXPIRED)
        counted = observer.totals()["default", "echo"]
        assert not counted.keys() & {"absorbed", "lost", "dropped"}

    async def test_what_comes_for_a_task_that_was_buried_or_is_gone_is_dropped(
        self, stage: Stage, observer: Observer
    ) -> None:
        zombie = await stage.running(max_attempts=1)
        stage.lapse(zombie.id)
        await stage.leases.reclaim(OTHER_WORKER, (), 5)
        await stage.finish(zombie, TaskStatus.SUCCEEDED)
        assert observer.totals()["default", "echo"]["dropped"] == 1
        stage.commands.discard(zombie.id, ACTOR)
        await stage.finish(zombie, TaskStatus.SUCCEEDED)
        assert observer.totals()["", OTHER_TYPES] == {"dropped": 1}

    async def test_a_fold_changes_no_sum(self, stage: Stage, observer: Observer) -> None:
        plant(stage, 5, q__t__submitted=3, q__t__w0=2, q__t__ws=1, q____depth=7)
        minute = plant(stage, 3, q__t__submitted=4, r__t__submitted=1)
        stage.submit(queue="q", task_type="t")
        before = observer.totals()
        assert before["q", "t"]["submitted"] == 8
        await fold(stage)
        assert stage.client.hget(stage.keys.totals, "q|t|submitted").split() == [b"7", str(minute).encode()]
        assert observer.totals() == before

    async def test_they_outlive_their_minutes(self, stage: Stage, observer: Observer) -> None:
        minute = plant(stage, 5, q__t__submitted=3)
        await fold(stage)
        stage.client.delete(stage.keys.stats("m", minute))
        assert observer.totals() == {("q", "t"): {"submitted": 3}}

    async def test_the_oldest_minutes_of_a_long_silence_count(self, stage: Stage, observer: Observer) -> None:
        plant(stage, KEPT_MINUTES - 2, q__t__submitted=3)
        assert observer.totals()["q", "t"]["submitted"] == 3
        await fold(stage)
        assert observer.totals()["q", "t"]["submitted"] == 3

    async def test_a_leader_that_died_half_way_is_followed_by_one_that_ends_it(
        self, stage: Stage, observer: Observer
    ) -> None:
        minute = plant(stage, 4, **{f"q__t{i}__submitted": i for i in range(1, 6)})
        before = observer.totals()
        await stage.lead()
        Scripts(stage.client, stage.config).run("count", TOKEN, minute, 0, "q|t1|submitted", 1)
        assert observer.totals() == before
        await fold(stage)
        assert observer.totals() == before
        assert int(stage.client.get(stage.keys.counted)) >= minute

    async def test_a_former_leader_adds_nothing(self, stage: Stage, observer: Observer) -> None:
        plant(stage, 4, q__t__submitted=1)
        await stage.schedule.sample("somebody else's token")
        assert not stage.client.exists(stage.keys.totals, stage.keys.counted)

    async def test_a_wide_minute_is_added_in_parts(self, stage: Stage, observer: Observer) -> None:
        plant(stage, 4, **{f"q{i}__t__submitted": i + 1 for i in range(900)})
        before = observer.totals()
        await fold(stage)
        assert observer.totals() == before
        assert stage.client.scard(stage.keys.series) == 900


class TestSeries:
    def test_latecomers_share_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(totals, "MAX_SERIES", 2)
        minute = {"q|a|submitted": 1, "q|b|submitted": 2, "q|c|submitted": 4, "r|d|submitted": 8, "q|e|submitted": 16}
        known: set[Pair] = set()
        assert by_series(minute, known) == {
            "q|a|submitted": 1,
            "q|b|submitted": 2,
            "q|other|submitted": 20,
            "r|other|submitted": 8,
        }
        assert known == {("q", "a"), ("q", "b")}

    async def test_the_leader_and_a_reader_agree(
        self, stage: Stage, observer: Observer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(totals, "MAX_SERIES", 2)
        plant(stage, 5, q__z__submitted=1, q__other__submitted=1)
        plant(stage, 4, q__a__submitted=2, q__b__submitted=4, q__z__submitted=8)
        before = observer.totals()
        assert before == {
            ("q", "z"): {"submitted": 9},
            ("q", "a"): {"submitted": 2},
            ("q", "other"): {"submitted": 5},
        }
        await fold(stage)
        assert observer.totals() == before

    @given(st.lists(st.dictionaries(st.tuples(st.sampled_from("qr"), st.sampled_from("abcdef")), st.integers(1, 9))))
    def test_no_sum_ever_falls(self, minutes: list[dict[Pair, int]]) -> None:
        """Reads between any two folds, with minutes added whole, see sums that grow and that add up to everything."""
        records = [{f"{q}|{t}|submitted".encode(): b"%d" % n for (q, t), n in minute.items()} for minute in minutes]
        stored: dict[bytes, bytes] = {}
        last: dict[Pair, int] = {}
        for folded in range(len(minutes) + 1):
            seen = add_up(stored, list(enumerate(records))[folded:])
            sums = {pair: measures["submitted"] for pair, measures in seen.items()}
            assert all(sums.get(pair, 0) >= value for pair, value in last.items())
            assert sum(sums.values()) == sum(n for minute in minutes for n in minute.values())
            last = sums
            if folded < len(minutes):
                stored = self.folded(stored, folded, records[folded])

    def folded(self, stored: dict[bytes, bytes], minute: int, record: dict[bytes, bytes]) -> dict[bytes, bytes]:
        sums = add_up(stored, [(minute, record)])
        new: dict[str, Any] = {f"{q}|{t}|{m}": n for (q, t), measures in sums.items() for m, n in measures.items()}
        return {name.encode(): f"{value} {minute}".encode() for name, value in new.items()}


@pytest.mark.real_redis
class TestObservation:
    async def test_it_agrees_with_the_queries(self, stage: Stage, observer: Observer) -> None:
        await stage.one_of_each(queue="mail", task_type="send")
        seen = observer.observe()
        assert seen.tasks == dict.fromkeys(TaskStatus, 1)
        assert seen.dead_by_type == {"send": 1}
        assert [queue.name for queue in seen.queues] == ["mail"]
        assert (seen.workers, seen.leader, seen.overdue, seen.refusals) == ([], None, 0, {})

    async def test_types_without_a_series_are_summed(
        self, stage: Stage, observer: Observer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(totals, "MAX_SERIES", 1)
        await stage.task(TaskStatus.DEAD_LETTERED, task_type="a")
        await stage.task(TaskStatus.DEAD_LETTERED, task_type="b")
        assert observer.observe().dead_by_type == {"a": 1, OTHER_TYPES: 1}

    async def test_overdue_is_what_nobody_has_moved(self, stage: Stage, observer: Observer) -> None:
        late, taken = stage.submit(delay_ms=60_000), stage.submit(delay_ms=60_000)
        stage.submit(delay_ms=60_000)
        assert observer.observe().overdue == 0
        stage.make_due(late)
        stage.make_due(taken)
        await stage.lead()
        await stage.schedule.claim_due(TOKEN, 1)
        assert observer.observe().overdue == 2


class TestWaiting:
    async def test_a_task_waits_from_when_it_was_enqueued(self, stage: Stage, waiting: Waiting) -> None:
        """A retry and a delayed task are older than their wait."""
        late = stage.submit(queue="a", delay_ms=60_000)
        stage.make_due(late)
        await stage.release()
        born_long_ago = stage.client.xadd(stage.keys.stream("b", 0), {"task_id": "x", "attempt": 1}, id="1000-0")
        stage.client.sadd(stage.keys.ready, "b:p0")
        waits = waiting.oldest_waits()
        assert waits["a"] < 60_000
        assert waits["b"] > 10**12
        stage.client.xdel(stage.keys.stream("b", 0), born_long_ago)
        stage.client.srem(stage.keys.ready, "b:p0")

    async def test_the_tasks_ahead_are_those_that_start_before(self, stage: Stage, waiting: Waiting) -> None:
        ids = [stage.submit() for _ in range(5)]
        stage.submit(priority=9)
        stage.submit(priority=0)
        queries = stage.commands._queries
        first, *rest = [queries.task(task_id) for task_id in ids]
        assert [waiting.ahead(task, 100) for task in (first, *rest)] == [0, 1, 2, 3, 4]
        assert waiting.ahead(rest[-1], 2) == 2
        await stage.claim(limit=2)  # the urgent one and the first
        stage.commands.cancel(ids[1], ACTOR)
        assert [waiting.ahead(task, 100) for task in rest[1:]] == [0, 1, 2]

    def test_what_came_back_stands_at_the_end(self, stage: Stage, waiting: Waiting) -> None:
        late, first = stage.submit(delay_ms=60_000), stage.submit()
        stage.commands.run_now(late, ACTOR)
        assert [waiting.ahead(stage.commands._queries.task(task_id), 100) for task_id in (first, late)] == [0, 1]

    def test_a_task_without_an_entry_has_no_place(self, stage: Stage, waiting: Waiting, damaged: set[str]) -> None:
        task = stage.commands._queries.task(stage.submit())
        damaged.add(task.id)
        stage.client.hset(stage.keys.task(task.id), "entry", "odd")
        assert waiting.ahead(task, 100) is None
        stage.client.hdel(stage.keys.task(task.id), "entry")
        assert waiting.ahead(task, 100) is None

    async def test_what_is_paused_waits_for_no_worker(self, stage: Stage, waiting: Waiting) -> None:
        assert waiting.startable_waits() == {}
        stage.submit(queue="a")
        stage.submit(queue="b")
        stage.commands.pause("a", ACTOR)
        assert set(waiting.startable_waits()) == {"b"}
        assert set(waiting.oldest_waits()) == {"a", "b"}

    async def test_lanes_are_told_apart_by_who_can_read_them(self, stage: Stage, waiting: Waiting) -> None:
        stage.submit(queue="a")
        stage.submit(queue="a")
        await stage.claim(limit=1)
        stage.submit(queue="b")
        assert waiting.lanes_by_group() == (["a:p5"], ["b:p5"], [])

    async def test_a_claimed_task_waits_no_more(self, stage: Stage, waiting: Waiting) -> None:
        stage.submit(queue="a")
        assert "a" in waiting.oldest_waits()
        await stage.claim(limit=1)
        assert waiting.oldest_waits() == {}
        stage.submit(queue="a", priority=0)
        stage.submit(queue="a", priority=9)
        await stage.claim(OTHER_WORKER, limit=1)
        assert set(waiting.oldest_waits()) == {"a"}
