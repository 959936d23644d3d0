"""What must go on while handlers block: the keeper's thread, and the watchdog that it asks."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.domain.wish import Wish
from tasks_app.handlers import TaskContext
from tasks_app.store.presence import Renewal
from tests.engine.fakes import BEAT, Clock, FakePresence, claimed
from tests.support.until import until, until_async
from workers.engine.execution import Execution
from workers.engine.lease_keeper import MAX_RENEWALS_PER_CALL, LeaseKeeper
from workers.engine.outage import Outage
from workers.engine.watchdog import LoopClock, Watchdog


def execution(task_id: str, attempt: int = 1) -> Execution:
    return Execution(claimed(task_id, attempt=attempt), None, TaskContext(task_id))


class Silent:
    """A watchdog with nothing to watch."""

    def run_once(self) -> None:
        """All is well."""


class Bench:
    def __init__(self) -> None:
        self.presence = FakePresence()
        self.leased: dict[str, Execution] = {}
        self.heard: list[tuple[Renewal, list[tuple[str, int]]]] = []
        self.wishes: list[Wish | None] = []
        self.outage = Outage()
        self.keeper = LeaseKeeper(
            self.presence.real(),
            "w",
            self.leased,
            lease_s=30,
            heartbeat_every_s=5,
            beat=lambda: BEAT,
            on_renewal=lambda renewal, asked: self.heard.append((renewal, list(asked))),
            on_wish=self.wishes.append,
            watchdog=Silent(),  # type: ignore[arg-type]
            outage=self.outage,
            rng=random.Random(1),
        )


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.keeper.stop(leave=False)


def test_it_renews_each_second_and_beats_at_its_interval(bench: Bench) -> None:
    bench.leased["t"] = execution("t", attempt=4)
    for tenth in range(101):
        bench.keeper.run_once(100 + tenth / 10)
    assert bench.presence.renewed == [[("t", 4)]] * 11
    assert len(bench.presence.beats) == 3
    assert bench.heard == []


def test_an_idle_worker_renews_nothing(bench: Bench) -> None:
    bench.keeper.run_once(100)
    assert bench.presence.renewed == []


def test_many_leases_are_renewed_in_bounded_calls(bench: Bench) -> None:
    bench.leased.update({f"t{n}": execution(f"t{n}") for n in range(MAX_RENEWALS_PER_CALL + 1)})
    bench.keeper.run_once(100)
    assert [len(call) for call in bench.presence.renewed] == [MAX_RENEWALS_PER_CALL, 1]


def test_what_the_store_says_is_handed_on_with_what_was_asked(bench: Bench) -> None:
    bench.leased["t"] = execution("t")
    bench.presence.renewal = Renewal(["t"], [])
    bench.keeper.run_once(100)
    assert bench.heard == [(Renewal(["t"], []), [("t", 1)])]


def test_the_thread_survives_outages_and_bugs_and_leaves_in_the_end(bench: Bench) -> None:
    bench.presence.errors.extend([StoreUnavailable("gone"), StoreUnavailable("gone"), ValueError("bug")])
    with capture_logs() as lines:
        bench.keeper.start()
        until(lambda: bench.presence.beats, timeout=5)
        bench.keeper.stop(leave=True)
        bench.keeper.join(5)
    assert not bench.keeper.is_alive()
    assert bench.presence.left == ["w"]
    assert {"REDIS_UNAVAILABLE", "LOOP_STEP_FAILED"} <= {line["event"] for line in lines}


def test_leaving_without_redis_is_no_drama(bench: Bench) -> None:
    bench.keeper.start()
    until(lambda: bench.presence.beats, timeout=5)
    bench.presence.away(100)
    bench.keeper.stop(leave=True)
    bench.keeper.join(5)
    assert not bench.keeper.is_alive()


def test_each_beat_brings_the_wish_that_stands(bench: Bench) -> None:
    for second, wish in enumerate((None, Wish.QUIET, Wish.QUIET)):
        bench.presence.wish = wish
        bench.keeper.run_once(100 + 5 * second)
    assert bench.wishes == [None, Wish.QUIET, Wish.QUIET]


def test_a_beat_that_is_wanted_while_another_is_on_its_way_follows_it(bench: Bench) -> None:
    bench.presence.on_beat = bench.keeper.beat_soon
    bench.keeper.run_once(100)
    bench.presence.on_beat = lambda: None
    bench.keeper.run_once(100.1)
    bench.keeper.run_once(100.2)
    assert len(bench.presence.beats) == 2


# --- the watchdog


async def test_a_blocked_loop_is_named_and_the_warnings_grow_rare() -> None:
    clock = Clock()
    loop = asyncio.get_running_loop()
    ticks = LoopClock(loop, clock)
    running, waiting = execution("guilty"), execution("innocent")
    running.task = asyncio.current_task()
    waiting.task = asyncio.create_task(asyncio.Event().wait())  # type: ignore[arg-type]
    watchdog = Watchdog(loop, threading.get_ident(), ticks, {"a": running, "b": waiting}, limit_s=1.0, clock=clock)
    with capture_logs() as lines:
        for _ in range(100):
            watchdog.run_once()
            clock.now += 1
        first = len(lines)
        ticks.start()
        watchdog.run_once()
        clock.now += 1
        watchdog.run_once()
    ticks.stop()
    waiting.task.cancel()
    assert 5 <= first <= 8  # 1, 2, 4, ... 64 seconds
    assert len(lines) == first + 1
    assert lines[0]["event"] == "LOOP_BLOCKED"
    assert lines[0]["tasks"] == ["noop guilty"]
    assert lines[0]["at"].endswith("in _where")  # here the watchdog itself is what the loop's thread runs


async def test_a_process_that_was_frozen_as_a_whole_is_not_taken_for_stuck() -> None:
    clock = Clock()
    calls: list[float] = []
    loop = asyncio.get_running_loop()
    ticks = LoopClock(loop, clock)
    watchdog = Watchdog(
        loop, threading.get_ident(), ticks, {}, limit_s=1.0, clock=clock, on_stuck=lambda: calls.append(clock.now)
    )
    clock.now += 60  # thawed: this thread may get its turn before the loop does
    watchdog.run_once()
    ticks.start()
    clock.now += 0.5
    watchdog.run_once()
    ticks.stop()
    assert calls == []
    for _ in range(3):
        clock.now += 1
        watchdog.run_once()
    assert len(calls) == 2


async def test_the_clock_of_the_loop_ticks() -> None:
    ticks = LoopClock(asyncio.get_running_loop())
    before = ticks.last_tick
    ticks.start()
    await until_async(lambda: ticks.last_tick - before >= 0.25)
    ticks.stop()
