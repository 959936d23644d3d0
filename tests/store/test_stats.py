"""Statistics over time: what each step counts, how minutes add up, and what is read from them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.status import TaskStatus
from tasks_app.store.keys import Keys
from tasks_app.store.queries import Queries
from tasks_app.store.scripts import BUCKETS_MS
from tasks_app.store.stats import GRAINS, percentile
from tests.support.stage import OTHER_WORKER, TOKEN, Stage

MINUTE_MS = 60_000


class TestCounting:
    async def test_a_life_is_counted_once_per_step(self, stage: Stage, queries: Queries) -> None:
        await stage.one_of_each(queue="mail", task_type="send")
        points = queries.series("15m").points
        total = {name: sum(getattr(point, name) for point in points) for name in ("submitted", "started", "succeeded")}
        assert total == {"submitted": 9, "started": 5, "succeeded": 1}
        totals = {n: sum(getattr(p, n) for p in points) for n in ("retried", "failed", "cancelled", "expired")}
        assert totals == {"retried": 1, "failed": 2, "cancelled": 1, "expired": 1}
        assert sum(sum(point.waits) for point in points) == 5
        assert sum(sum(point.runs) for point in points) == 4

    async def test_queues_and_types_are_told_apart(self, stage: Stage, queries: Queries) -> None:
        stage.submit(queue="a", task_type="x")
        stage.submit(queue="a", task_type="y")
        stage.submit(queue="b", task_type="x")

        def submitted(**narrow: str) -> int:
            return sum(point.submitted for point in queries.series("1h", **narrow).points)

        assert (submitted(), submitted(queue="a"), submitted(task_type="x")) == (3, 2, 2)
        assert (submitted(queue="a", task_type="x"), submitted(queue="c")) == (1, 0)

    async def test_a_lost_run_counts_where_it_ends(self, stage: Stage, queries: Queries) -> None:
        task = await stage.running(max_attempts=1)
        stage.lapse(task.id)
        await stage.leases.reclaim(OTHER_WORKER, (), 1)
        assert sum(point.failed for point in queries.series("15m").points) == 1

    async def test_a_clock_that_stepped_back_counts_as_no_time(self, stage: Stage, queries: Queries) -> None:
        task = await stage.running()
        stage.client.hset(stage.keys.task(task.id), "started_at", 2**45)
        await stage.finish(task, TaskStatus.SUCCEEDED)
        assert sum(point.runs[0] for point in queries.series("15m").points) == 1

    async def test_a_long_run_falls_into_the_last_bucket(self, stage: Stage, queries: Queries) -> None:
        task = await stage.running()
        stage.client.hset(stage.keys.task(task.id), "started_at", 1)
        await stage.finish(task, TaskStatus.SUCCEEDED)
        assert sum(point.runs[len(BUCKETS_MS)] for point in queries.series("15m").points) == 1


class TestSeries:
    @pytest.mark.parametrize("window", GRAINS)
    def test_every_window_has_its_points(self, queries: Queries, window: str) -> None:
        series = queries.series(window)
        assert len(series.points) == GRAINS[window][1]
        ats = [point.at for point in series.points]
        assert ats == list(range(ats[0], ats[-1] + 1, series.span_ms))
        assert all(point.submitted == 0 and point.depth is None for point in series.points)

    async def test_flows_are_per_minute(self, stage: Stage, queries: Queries) -> None:
        assert queries.flows() == {}
        now = stage.minute()
        stage.client.hset(stage.keys.stats("m", now - 1), mapping={"q|t|submitted": 60, "q|t|running": 30})
        stage.client.expire(stage.keys.stats("m", now - 1), 60)
        flow = queries.flows()["q"]
        assert 20 <= flow.into <= 30.1
        assert flow.into == pytest.approx(2 * flow.out)


class TestRollUp:
    async def roll(self, stage: Stage) -> None:
        await stage.lead()
        await stage.schedule.sample(TOKEN)

    async def test_ten_minutes_add_up(self, stage: Stage, queries: Queries, keys: Keys) -> None:
        span = stage.minute() // 10 - 1
        for i in range(10):
            fields = {"q|t|submitted": i, "q|t|w3": 1, "q|t|ws": 5, "q||depth": i, "q||oldest": 100 - i}
            stage.client.hset(keys.stats("m", span * 10 + i), mapping=fields)
            stage.client.expire(keys.stats("m", span * 10 + i), 600)
        await self.roll(stage)
        for window in ("24h", "7d"):
            [point] = [point for point in queries.series(window).points if point.submitted]
            assert (point.submitted, point.waits[3], point.wait_sum_ms) == (45, 10, 50)
            assert (point.depth, point.oldest_ms) == (9, 100)

    async def test_what_is_not_summed_up_yet_is_in_every_window(self, stage: Stage, queries: Queries) -> None:
        await self.roll(stage)
        now = stage.minute()
        unsummed = {now, max(now - 1, now // 10 * 10)}  # one minute only where ten have just ended
        for number in unsummed:
            fields = {"q|t|submitted": 3, "q||depth": 6, "r||depth": 1}
            stage.client.hset(stage.keys.stats("m", number), mapping=fields)
            stage.client.expire(stage.keys.stats("m", number), 600)
        for window in GRAINS:
            points = [point for point in queries.series(window).points if point.submitted]
            assert sum(point.submitted for point in points) == 3 * len(unsummed)
            assert max(point.depth or 0 for point in points) == 7

    async def test_doing_it_again_changes_nothing(self, stage: Stage, queries: Queries, keys: Keys) -> None:
        span = stage.minute() // 10 - 1
        stage.client.hset(keys.stats("m", span * 10), "q|t|submitted", 7)
        stage.client.expire(keys.stats("m", span * 10), 600)
        await self.roll(stage)
        stage.client.delete("dtq:stats:rolled")
        await stage.lead()
        await stage.schedule._rollup.run_once(TOKEN)
        assert int(stage.client.get("dtq:stats:rolled")) == span
        assert sum(point.submitted for point in queries.series("7d").points) == 7

    async def test_however_many_counters_there_are_no_call_writes_more_than_a_part(
        self, stage: Stage, queries: Queries, keys: Keys
    ) -> None:
        span = stage.minute() // 10 - 1
        for i in range(3):
            fields = {f"q{n}|t|submitted": 1 for n in range(1234)}
            stage.client.hset(keys.stats("m", span * 10 + i), mapping=fields)
            stage.client.expire(keys.stats("m", span * 10 + i), 600)
        await self.roll(stage)
        assert sum(point.submitted for point in queries.series("7d").points) == 3 * 1234
        assert sum(point.submitted for point in queries.series("24h", queue="q1233").points) == 3

    async def test_a_former_leader_sums_nothing_up(self, stage: Stage) -> None:
        await stage.schedule._rollup.run_once("a token of old")
        assert not stage.client.exists("dtq:stats:rolled")

    async def test_it_is_done_every_ten_seconds_at_most(self, stage: Stage) -> None:
        await self.roll(stage)
        stage.client.delete("dtq:stats:rolled")
        await self.roll(stage)
        assert not stage.client.exists("dtq:stats:rolled")

    async def test_depth_and_oldest_wait_are_sampled(self, stage: Stage, queries: Queries) -> None:
        for _ in range(3):
            stage.submit()
        stage.submit(queue="mail")
        await self.roll(stage)
        assert [p.depth for p in queries.series("15m").points if p.depth is not None] == [4]
        [point] = [p for p in queries.series("15m", queue="default").points if p.depth is not None]
        assert point.depth == 3 and point.oldest_ms is not None and point.oldest_ms >= 0

    async def test_the_oldest_wait_counts_from_the_stream(self, stage: Stage, queries: Queries) -> None:
        stage.submit(priority=9)
        lane = stage.keys.stream("default", 0)
        waiting_since_1970 = stage.client.xadd(lane, {"task_id": "x", "attempt": 1}, id="1000-0")
        stage.client.sadd(stage.keys.ready, "default:p0")
        await self.roll(stage)
        assert max(p.oldest_ms or 0 for p in queries.series("15m").points) > 10**12
        stage.client.xdel(lane, waiting_since_1970)
        stage.client.srem(stage.keys.ready, "default:p0")

    async def test_what_was_claimed_waits_no_more(self, stage: Stage, queries: Queries) -> None:
        lane = stage.keys.stream("default", 5)
        long_ago = stage.client.xadd(lane, {"task_id": "x", "attempt": 1}, id="1000-0")
        stage.submit()
        stage.client.xgroup_create(lane, "workers", long_ago)
        await self.roll(stage)
        assert max(p.oldest_ms or 0 for p in queries.series("15m").points) < 60_000
        stage.client.xdel(lane, long_ago)


class TestPercentile:
    @pytest.mark.parametrize("fraction", [0.0, 0.5, 1.0])
    def test_nothing_has_none(self, fraction: float) -> None:
        assert percentile([0] * (len(BUCKETS_MS) + 1), fraction) is None

    def test_inside_a_bucket_it_is_interpolated(self) -> None:
        counts = [0] * (len(BUCKETS_MS) + 1)
        counts[3] = 10  # 5..10 ms
        assert percentile(counts, 0.5) == 7.5
        assert percentile(counts, 1.0) == 10

    def test_past_the_last_bound_it_is_at_least_that(self) -> None:
        counts = [0] * len(BUCKETS_MS) + [5]
        assert percentile(counts, 0.5) == BUCKETS_MS[-1]

    @given(st.lists(st.integers(0, 1000), min_size=len(BUCKETS_MS) + 1, max_size=len(BUCKETS_MS) + 1))
    def test_it_grows_with_its_fraction_and_stays_in_bounds(self, counts: list[int]) -> None:
        values = [percentile(counts, fraction) for fraction in (0.01, 0.5, 0.9, 0.99, 1.0)]
        if not sum(counts):
            assert values == [None] * 5
        else:
            numbers = [value for value in values if value is not None]
            assert len(numbers) == 5 and numbers == sorted(numbers)
            assert numbers[0] >= 0 and numbers[-1] <= BUCKETS_MS[-1]
