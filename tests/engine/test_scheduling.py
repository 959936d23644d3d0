"""One pass of the scheduler: what it asks for, in which order, and when it comes again."""

from __future__ import annotations

import asyncio
import random

import pytest
from structlog.testing import capture_logs

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.store.schedule import Due
from tests.engine.fakes import Clock, FakeSchedule
from workers.engine.scheduler import BATCH, Scheduler


class Bench:
    def __init__(self) -> None:
        self.clock = Clock()
        self.schedule = FakeSchedule()
        self.stop = asyncio.Event()
        self.scheduler = Scheduler(self.schedule.real(), "w", self.stop, random.Random(1), self.clock)

    async def run_pass(self) -> tuple[list[str], float]:
        """What one pass called, and its nap."""
        self.schedule.calls.clear()
        nap = await self.scheduler.run_pass()
        return list(self.schedule.calls), nap

    def due(self, count: int, next_due_ms: int | None = None, leading: bool = True) -> None:
        self.schedule.dues.append(Due([f"t{n}" for n in range(count)], next_due_ms, leading))


@pytest.fixture
async def bench() -> Bench:
    return Bench()


async def test_a_leader_requeues_what_is_due_and_naps_till_the_next(bench: Bench) -> None:
    bench.due(3, next_due_ms=250)
    calls, nap = await bench.run_pass()
    assert calls == ["lead", "return all", "due", "requeue 3", "return", "sweep", "operate"]
    assert nap == 0.25


@pytest.mark.parametrize(("next_due_ms", "nap"), [(None, 1.0), (60_000, 1.0), (0, 0.01)])
async def test_naps_are_held_between_a_moment_and_a_second(bench: Bench, next_due_ms: int | None, nap: float) -> None:
    bench.due(0, next_due_ms)
    assert (await bench.run_pass())[1] == nap


async def test_a_full_batch_is_followed_by_the_next_at_once(bench: Bench) -> None:
    bench.due(BATCH)
    calls, nap = await bench.run_pass()
    assert f"requeue {BATCH}" in calls
    assert nap == 0.0


async def test_upkeep_comes_on_slower_timers_and_at_once_while_there_is_more(bench: Bench) -> None:
    bench.schedule.more = 2
    assert (await bench.run_pass())[1] == 0.0
    assert (await bench.run_pass())[1] == 0.0
    calls, nap = await bench.run_pass()
    assert calls == ["due", "sweep"]
    assert nap == 1.0
    assert (await bench.run_pass())[0] == ["due"]
    bench.clock.now += 9
    assert (await bench.run_pass())[0] == ["lead", "due", "sweep", "operate"]
    bench.clock.now += 9
    assert (await bench.run_pass())[0] == ["lead", "due", "return", "sweep", "operate"]


async def test_operations_go_on_at_once_and_what_is_due_comes_in_between(bench: Bench) -> None:
    bench.schedule.operating = 2
    assert (await bench.run_pass())[1] == 0.0
    assert await bench.run_pass() == (["due", "operate"], 0.0)
    assert await bench.run_pass() == (["due", "operate"], 1.0)
    assert (await bench.run_pass())[0] == ["due"]


async def test_a_follower_only_tries_the_lock(bench: Bench) -> None:
    bench.schedule.leads = False
    calls, nap = await bench.run_pass()
    assert calls == ["lead"]
    assert 2.5 <= nap <= 3.5
    assert (await bench.run_pass())[0] == []
    bench.clock.now += nap
    bench.schedule.leads = True
    assert (await bench.run_pass())[0][:3] == ["lead", "return all", "due"]
    assert bench.scheduler.leading


async def test_a_leader_that_was_replaced_stops_at_once(bench: Bench) -> None:
    await bench.run_pass()
    bench.due(0, leading=False)
    with capture_logs() as lines:
        calls, _ = await bench.run_pass()
    assert calls == ["due"]
    assert not bench.scheduler.leading
    assert [line["event"] for line in lines] == ["SCHEDULER_LEAD_LOST"]
    assert (await bench.run_pass())[0] == []


async def test_after_an_outage_the_lock_is_asked_first(bench: Bench) -> None:
    await bench.run_pass()
    bench.schedule.away()
    with pytest.raises(StoreUnavailable):
        await bench.run_pass()
    assert (await bench.run_pass())[0][:3] == ["lead", "return all", "due"]
    assert (await bench.run_pass())[0] == ["due"]


async def test_what_a_former_leader_had_claimed_goes_back_at_once(bench: Bench) -> None:
    bench.schedule.abandoned.extend([500, 20])
    with capture_logs() as lines:
        calls, _ = await bench.run_pass()
    assert calls[:5] == ["lead", "return all", "return all", "return all", "due"]
    assert [line["tasks"] for line in lines if line["event"] == "CLAIMS_RETURNED"] == [500, 20]


async def test_only_a_leader_resigns(bench: Bench) -> None:
    await bench.scheduler.resign()
    assert bench.schedule.calls == []
    await bench.run_pass()
    await bench.scheduler.resign()
    await bench.scheduler.resign()
    assert bench.schedule.calls.count("resign") == 1


async def test_resigning_without_redis_is_no_drama(bench: Bench) -> None:
    await bench.run_pass()
    bench.schedule.away()
    with capture_logs() as lines:
        await bench.scheduler.resign()
    assert [line["event"] for line in lines] == ["RESIGN_NOT_RECORDED"]


async def test_a_stop_ends_the_nap(bench: Bench) -> None:
    bench.stop.set()
    async with asyncio.timeout(0.9):
        await bench.scheduler.run_once()
