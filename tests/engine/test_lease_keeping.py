"""What must go on while handlers block: the keeper's thread, the watchdog, the guard's process."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.domain.wish import Wish
from tasks_app.handlers import TaskContext
from tasks_app.store.presence import Fetching, Heartbeat, Renewal
from tests.engine.fakes import Clock, FakePresence, claimed
from tests.support.builders import make_config
from tests.support.until import until, until_async
from workers.engine.execution import Execution
from workers.engine.guard import MAX_TASKS_PER_MESSAGE, LeaseGuard
from workers.engine.guard_process import SILENCE_S, Guard, runs
from workers.engine.lease_keeper import MAX_RENEWALS_PER_CALL, LeaseKeeper
from workers.engine.outage import Outage
from workers.engine.watchdog import LoopClock, Watchdog

BEAT = Heartbeat("w", "host", 1, "1", 0.0, "ready", 5, 0, ("a", "b"), 0, 0, ("t",))


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


# --- the guard


class GuardBench:
    def __init__(self) -> None:
        self.presence = FakePresence()
        self.worker_runs = True
        self.guard = Guard(self.presence.real(), "w", lambda: self.worker_runs, heartbeat_every_s=5)

    def hear(self, message: str, now: float) -> None:
        self.guard.hear(message.encode(), now)


@pytest.fixture
def guarded() -> GuardBench:
    return GuardBench()


def beat_message(beat: Heartbeat = BEAT) -> str:
    return "!" + json.dumps(dataclasses.asdict(beat))


def test_while_the_keeper_speaks_the_guard_does_nothing(guarded: GuardBench) -> None:
    for second in range(10):
        guarded.hear("=t 1 noop", second)
        guarded.hear(beat_message(), second)
        guarded.guard.run_once(second + 0.9)
    assert guarded.presence.renewed == []
    assert guarded.presence.beats == []


def test_in_its_silence_the_guard_renews_and_beats(guarded: GuardBench) -> None:
    spoken = dataclasses.replace(BEAT, task_types=("noop", "mail.send"), fetching=Fetching(5, 9))
    guarded.hear(beat_message(spoken), 100)
    guarded.hear("=t 1 noop\nu 3 mail.send", 100)
    with capture_logs() as lines:
        for tenth in range(100):
            guarded.guard.run_once(100 + tenth / 10)
    assert len(guarded.presence.renewed) == 9
    assert guarded.presence.renewed[0] == [("t", 1), ("u", 3)]
    assert guarded.presence.beats == [dataclasses.replace(spoken, fetching=None)]  # its loop may stand still by now
    assert [line["event"] for line in lines] == ["INTERPRETER_BLOCKED"] * 2
    assert lines[0]["tasks"] == ["noop t", "mail.send u"]


def test_tasks_announced_before_they_start_are_renewed(guarded: GuardBench) -> None:
    guarded.hear("=", 100)
    guarded.hear("+t 1 noop", 100.5)
    guarded.guard.run_once(100 + SILENCE_S)
    assert guarded.presence.renewed == [[("t", 1)]]


def test_an_announcement_that_crossed_the_list_is_kept_for_one_more(guarded: GuardBench) -> None:
    guarded.hear("+t 1 noop", 100)
    guarded.hear("=", 100)
    guarded.guard.run_once(100 + SILENCE_S)
    assert guarded.presence.renewed == [[("t", 1)]]
    guarded.hear("=", 102)
    guarded.hear("=", 103)
    guarded.guard.run_once(103 + SILENCE_S)
    assert guarded.presence.renewed == [[("t", 1)]]


def test_a_worker_that_is_stopped_or_dead_is_not_covered(guarded: GuardBench) -> None:
    guarded.hear(beat_message(), 100)
    guarded.hear("=t 1 noop", 100)
    guarded.worker_runs = False
    guarded.guard.run_once(200)
    assert not guarded.presence.renewed
    assert not guarded.presence.beats


def test_before_the_first_word_there_is_nothing_to_cover(guarded: GuardBench) -> None:
    guarded.guard.run_once(1e9)
    assert not guarded.presence.renewed
    assert not guarded.presence.beats


def test_this_process_runs_and_one_that_is_not_there_does_not() -> None:
    assert runs(os.getpid())
    assert not runs(2**22 + 1)


def test_the_real_process_takes_messages_of_any_size_and_ends_with_the_line(redis_url: str) -> None:
    guard = LeaseGuard(make_config(), redis_url, "w")
    guard.claimed([claimed("early")])  # before it is up: dropped, the next list has it
    guard.keep_up(0)
    process: Any = guard._process
    try:
        guard.claimed([claimed(f"t{n}") for n in range(100)])
        guard.alive([(f"t{n}", 1, "noop") for n in range(3 * MAX_TASKS_PER_MESSAGE)])
        guard.beat(BEAT)
        for _ in range(10_000):  # far more than the line holds: never blocks
            guard.alive([("t", 1, "noop")])
        guard.keep_up(1)
        assert process.poll() is None
    finally:
        guard.close()
    assert process.returncode == 0


def test_a_guard_that_died_is_replaced_but_not_in_a_hurry(redis_url: str) -> None:
    guard = LeaseGuard(make_config(), redis_url, "w")
    started = time.monotonic()
    guard.keep_up(started)
    first: Any = guard._process
    first.kill()
    first.wait()
    try:
        guard.alive([("t", 1, "noop")])
        guard.keep_up(started + 1)
        assert guard._process is first
        with capture_logs() as lines:
            guard.keep_up(started + 6)
        assert [line["event"] for line in lines] == ["LEASE_GUARD_ENDED"]
        assert guard._process is not first
    finally:
        guard.close()
