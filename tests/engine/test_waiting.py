"""Backoff, the outage's log lines, and the shell around every step."""

from __future__ import annotations

import asyncio
import random

import pytest
from structlog.testing import capture_logs

from tasks_app.domain.errors import StoreUnavailable
from tests.engine.fakes import Clock, Turn
from workers.engine import loops
from workers.engine.backoff import Backoff
from workers.engine.outage import Outage


def test_backoff_grows_to_its_cap_with_jitter() -> None:
    backoff = Backoff(random.Random(1))
    delays = [backoff.next_s() for _ in range(100)]
    assert 0.025 <= delays[0] <= 0.05
    assert all(1.0 <= delay <= 2.0 for delay in delays[10:])
    assert len(set(delays)) == 100
    backoff.reset()
    assert backoff.next_s() <= 0.05


def test_an_outage_is_logged_once_a_second_however_many_loops_fail() -> None:
    clock = Clock()
    outage = Outage(clock)
    with capture_logs() as lines:
        for _ in range(50):
            for loop in ("fetcher", "committer"):
                outage.failed(loop, StoreUnavailable("gone"), retry_in_s=0.1)
            clock.now += 0.1
    assert len(lines) == 5
    assert sum(line["failures"] for line in lines) <= 100
    assert lines[0]["error"] == "gone"
    assert outage.down


def test_an_outage_ends_when_every_loop_has_its_answers_again() -> None:
    clock = Clock()
    outage = Outage(clock)
    for loop in ("fetcher", "committer"):
        outage.failed(loop, StoreUnavailable("gone"), retry_in_s=0.1)
    clock.now += 7
    with capture_logs() as lines:
        outage.worked("fetcher")
        assert outage.down
        outage.worked("committer")
        outage.worked("committer")
    assert not outage.down
    assert [(line["event"], line["down_s"]) for line in lines] == [("REDIS_BACK", 7.0)]


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Loops that do not wait; the seconds they would have."""
    waits: list[float] = []

    async def pause(stop: asyncio.Event, seconds: float) -> None:
        waits.append(seconds)
        await Turn()

    monkeypatch.setattr(loops, "pause", pause)
    return waits


async def run_steps(outcomes: list[Exception | None], outage: Outage) -> int:
    stop = asyncio.Event()
    steps = 0

    async def step() -> None:
        nonlocal steps
        outcome = outcomes[steps]
        steps += 1
        if steps == len(outcomes):
            stop.set()
        if outcome is not None:
            raise outcome

    await loops.keep_running("loop", step, outage=outage, stop=stop, rng=random.Random(1))
    return steps


async def test_no_error_ends_a_loop(no_waiting: list[float]) -> None:
    outage = Outage()
    with capture_logs() as lines:
        done = await run_steps([StoreUnavailable("a"), None, KeyError("b"), StoreUnavailable("c"), None], outage)
    assert done == 5
    assert not outage.down
    events = [line["event"] for line in lines]
    assert events[:3] == ["REDIS_UNAVAILABLE", "REDIS_BACK", "LOOP_STEP_FAILED"]


async def test_waits_grow_while_it_fails_and_start_again_after_a_success(no_waiting: list[float]) -> None:
    gone: list[Exception | None] = [StoreUnavailable("gone")] * 8
    await run_steps([*gone, None, *gone, None], Outage())
    first, second = no_waiting[:8], no_waiting[8:]
    for waits in (first, second):
        assert waits[0] <= 0.05
        assert waits[7] >= 1.0


@pytest.mark.parametrize("seconds", [0.0, 30.0])
async def test_a_pause_ends_with_the_stop(seconds: float) -> None:
    stop = asyncio.Event()
    stop.set()
    async with asyncio.timeout(1):
        await loops.pause(stop, seconds)


async def test_a_pause_ends_by_itself() -> None:
    async with asyncio.timeout(1):
        await loops.pause(asyncio.Event(), 0.01)
