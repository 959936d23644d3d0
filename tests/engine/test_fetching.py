"""Filling slots: what is asked of the store, when, and how much."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import cast

import pytest
from structlog.testing import capture_logs

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.store.leases import Absorbed, Claimed, ClaimReply
from tests.engine.fakes import Clock, FakeLeases, Turn, claimed
from workers.engine.execution import Slots
from workers.engine.executor import Executor
from workers.engine.fetcher import MOST_AT_BELL, Fetcher
from workers.engine.reaper import AFTER_OUTAGE_S, EVERY_S, EVERY_WHEN_FULL_S, Reaper


class Starter:
    """Stands where the executor does: takes slots and keeps what it was given."""

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.started: list[str] = []
        self.soon: Callable[[str], None] = lambda task_id: None

    def start(self, tasks: Sequence[Claimed]) -> None:
        for task in tasks:
            self.slots.take()
            self.started.append(task.id)
            asyncio.get_running_loop().call_soon(self.soon, task.id)


class Bench:
    def __init__(self, concurrency: int = 10) -> None:
        self.clock = Clock()
        self.leases = FakeLeases()
        self.slots = Slots(concurrency)
        self.starter = Starter(self.slots)
        self.stop = asyncio.Event()
        self.announced: list[str] = []
        self.reaper = Reaper(self.leases.real(), "w", (), random.Random(1), self.clock)
        self.fetcher = Fetcher(
            self.leases.real(),
            "w",
            (),
            self.slots,
            cast(Executor, self.starter),
            self.reaper,
            self.stop,
            announce=lambda tasks: self.announced.extend(task.id for task in tasks),
        )

    def offer(self, *counts: int) -> None:
        """Put claims of so many tasks each into the queue."""
        for count in counts:
            at = len(self.leases.queue)
            self.leases.queue.append(ClaimReply([claimed(f"q{at}-{n}") for n in range(count)]))

    async def reaped(self) -> None:
        """Get the first look of the reaper out of the way, and a claim that was full."""
        self.offer(5)
        await self.fetcher.run_once()
        for _ in range(5):
            self.slots.release()
        self.starter.started.clear()
        self.announced.clear()
        self.leases.calls.clear()

    async def drained(self) -> None:
        """The same, and a claim that found nothing: the next one waits for a bell."""
        await self.reaped()
        await self.fetcher.run_once()
        self.leases.calls.clear()


@pytest.fixture
async def bench() -> Bench:
    return Bench()


async def test_expired_leases_come_before_new_work(bench: Bench) -> None:
    bench.leases.expired.append(ClaimReply([claimed("expired")]))
    bench.offer(1)
    await bench.fetcher.run_once()
    assert bench.starter.started == bench.announced == ["expired", "q0-0"]
    assert bench.leases.calls == [("reclaim", 10), ("claim", 5)]


async def test_half_of_the_slots_at_a_time_and_no_wait_between(bench: Bench) -> None:
    await bench.reaped()
    bench.offer(5, 5)
    await bench.fetcher.run_once()
    await bench.fetcher.run_once()
    assert bench.leases.calls == [("claim", 5), ("claim", 5)]
    assert bench.slots.free == 0


@pytest.mark.parametrize(("concurrency", "limit"), [(1, 1), (2, 1), (3, 2), (1000, 100)])
async def test_claims_are_bounded(concurrency: int, limit: int) -> None:
    bench = Bench(concurrency)
    await bench.fetcher.run_once()
    assert bench.leases.calls[1] == ("claim", limit)
    bench.leases.bell.set()
    await bench.fetcher.run_once()
    assert bench.leases.calls[2] == ("claim at bell", min(limit, MOST_AT_BELL))


async def test_without_slots_nothing_is_claimed_until_one_is_free(bench: Bench) -> None:
    await bench.reaped()
    for _ in range(10):
        bench.slots.take()
    step = asyncio.create_task(bench.fetcher.run_once())
    await Turn()
    await Turn()
    assert not step.done()
    bench.slots.release()
    await step
    assert bench.leases.calls == []
    bench.offer(1)
    await bench.fetcher.run_once()
    assert bench.leases.calls == [("claim", 1)]


async def test_absorbed_entries_are_logged_in_one_line_a_reason_and_followed_by_another_claim(bench: Bench) -> None:
    await bench.reaped()
    entries = [Absorbed(f"d{n}", "default", "duplicate") for n in range(30)] + [Absorbed("c", "default", "cancelled")]
    bench.leases.queue.append(ClaimReply([], entries))
    with capture_logs() as lines:
        await bench.fetcher.run_once()
    assert [(line["event"], line["tasks"]) for line in lines] == [("TASK_DUPLICATE_ABSORBED", 30), ("TASK_ABSORBED", 1)]
    assert bench.leases.calls == [("claim", 5)]  # no wait: there may be more behind them


async def test_a_claim_answered_after_the_signal_starts_nothing(bench: Bench) -> None:
    await bench.reaped()
    bench.offer(2)
    bench.leases.hold = asyncio.Event()
    step = asyncio.create_task(bench.fetcher.run_once())
    await Turn()
    bench.stop.set()
    bench.leases.hold.set()
    await step
    assert bench.starter.started == []
    assert bench.fetcher.unstarted == [("q0-0", 1), ("q0-1", 1)]


@pytest.mark.parametrize("taken", [0, 10])
async def test_a_signal_during_the_reapers_look_ends_the_turn(bench: Bench, taken: int) -> None:
    """Nothing more is claimed, and a full worker does not go on to wait for a slot: what would wake it is over."""
    for _ in range(taken):
        bench.slots.take()
    bench.clock.now += 60
    bench.leases.hold = asyncio.Event()
    step = asyncio.create_task(bench.fetcher.run_once())
    await Turn()
    bench.stop.set()
    bench.slots.wake()
    bench.leases.hold.set()
    async with asyncio.timeout(1):
        await step
    assert bench.leases.calls == [("reclaim", 10 - taken)]


async def test_an_empty_claim_is_followed_by_one_that_waits_for_a_bell(bench: Bench) -> None:
    await bench.reaped()
    bench.offer(0, 2, 10, 0)
    bench.leases.bell.set()
    await bench.fetcher.run_once()
    await bench.fetcher.run_once()
    assert bench.starter.started == bench.announced == ["q1-0", "q1-1"]
    bench.leases.bell.set()
    await bench.fetcher.run_once()
    assert bench.leases.calls == [("claim", 5), ("claim at bell", 5), ("claim at bell", 5)]


async def test_a_task_that_a_bell_brought_begins_before_the_next_wait(bench: Bench) -> None:
    await bench.drained()
    bench.offer(1)
    bench.leases.bell.set()
    begun: list[str] = []
    bench.starter.soon = begun.append
    await bench.fetcher.run_once()
    assert begun == ["q0-0"]


async def at_the_bell(bench: Bench) -> asyncio.Task[None]:
    """A step that waits with its claim."""
    await bench.drained()
    step = asyncio.create_task(bench.fetcher.run_once())
    for _ in range(5):
        await Turn()
    assert bench.leases.calls == [("claim at bell", 5)]
    return step


async def test_a_waiting_claim_is_answered_at_the_signal_and_starts_nothing(bench: Bench) -> None:
    step = await at_the_bell(bench)
    bench.offer(2)
    bench.stop.set()
    async with asyncio.timeout(1):
        await step
    assert bench.leases.calls[-1] == ("leave bell", 0)
    assert bench.starter.started == []
    assert bench.fetcher.unstarted == [("q0-0", 1), ("q0-1", 1)]


@pytest.mark.parametrize("silent", ["rings no bell", "takes no ring"])
async def test_a_server_that_does_not_answer_is_left_without_its_answer(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, silent: str
) -> None:
    monkeypatch.setattr("workers.engine.fetcher.LEAVE_S", 0.01)
    step = await at_the_bell(bench)
    if silent == "rings no bell":
        bench.leases.deaf = True
    else:
        bench.leases.hold = asyncio.Event()
    bench.stop.set()
    async with asyncio.timeout(1):
        await step
    assert bench.fetcher.unstarted == []


async def test_an_outage_while_it_leaves_the_bell_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.engine.fetcher.LEAVE_S", 0.01)
    step = await at_the_bell(bench)
    bench.leases.away()
    bench.stop.set()
    with capture_logs() as lines:
        async with asyncio.timeout(1):
            await step
    assert [line["event"] for line in lines] == ["BELL_NOT_LEFT"]
    assert bench.fetcher.unstarted == []


async def test_after_an_outage_the_living_renew_before_anybody_reaps(bench: Bench) -> None:
    await bench.reaped()
    bench.leases.away()
    with pytest.raises(StoreUnavailable):
        await bench.fetcher.run_once()
    bench.clock.now += 60  # the reaper would be long due
    await bench.fetcher.run_once()
    assert ("reclaim", 10) not in bench.leases.calls
    assert bench.reaper.due_in(1) == AFTER_OUTAGE_S


async def test_an_outage_that_is_first_noticed_at_the_doorbell_counts_as_well(bench: Bench) -> None:
    step = await at_the_bell(bench)
    bench.leases.away()
    bench.leases.bell.set()
    with pytest.raises(StoreUnavailable):
        await step
    bench.clock.now += 60
    await bench.fetcher.run_once()
    assert bench.leases.calls == [("claim at bell", 5), ("claim", 5)]
    assert bench.reaper.due_in(1) == AFTER_OUTAGE_S


async def test_a_full_worker_asks_whether_redis_is_back_before_it_reaps(bench: Bench) -> None:
    await bench.reaped()
    bench.leases.away(2)
    with pytest.raises(StoreUnavailable):
        await bench.fetcher.run_once()
    for _ in range(10):
        bench.slots.take()
    bench.clock.now += 60
    with pytest.raises(StoreUnavailable):
        await bench.fetcher.run_once()
    await bench.fetcher.run_once()
    assert bench.leases.calls[1:] == [("claim", 0)] * 2
    assert bench.reaper.due_in(1) == AFTER_OUTAGE_S


async def test_a_bell_without_work_makes_the_reaper_look_soon(bench: Bench) -> None:
    await bench.drained()
    assert bench.reaper.due_in(1) > 1
    bench.leases.bell.set()
    await bench.fetcher.run_once()
    assert bench.reaper.due_in(1) < 0.5


async def test_the_reaper_keeps_its_pace(bench: Bench) -> None:
    reaper = bench.reaper
    assert reaper.due_in(1) == 0
    gaps = set()
    for _ in range(20):
        await reaper.run_once(3)
        gaps.add(reaper.due_in(1))
    assert all(EVERY_S * 0.9 <= gap <= EVERY_S * 1.1 for gap in gaps)
    assert len(gaps) == 20
    assert reaper.due_in(0) - reaper.due_in(1) == pytest.approx(EVERY_WHEN_FULL_S - EVERY_S)
