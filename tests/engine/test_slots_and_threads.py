"""Counting slots, and threads that hand results back in batches."""

from __future__ import annotations

import asyncio
import contextvars
import threading

from tests.engine.fakes import Turn
from tests.support.until import until, until_async
from workers.engine.execution import Slots
from workers.engine.threads import ThreadPool


def test_slots_free_up_when_handlers_return_but_outcomes_are_bounded() -> None:
    slots = Slots(10)
    for _ in range(10):
        slots.take()
    assert slots.free == 0
    for _ in range(10):
        slots.release()
        slots.uncommitted += 1
    assert slots.free == 10
    for _ in range(10):
        slots.take()
    for _ in range(10):
        slots.release()
        slots.uncommitted += 1
    assert slots.free == 0  # twice the concurrency waits for Redis
    slots.committed(5)
    assert slots.free == 5


async def test_waiting_for_a_slot_ends_with_a_release_or_with_time() -> None:
    slots = Slots(1)
    slots.take()
    async with asyncio.timeout(1):
        await slots.wait(0.01)
        waiting = asyncio.create_task(slots.wait(30))
        await Turn()
        slots.release()
        await waiting
        await slots.wait(30)  # one is free: no wait


async def test_results_of_threads_arrive_on_the_loop_once_each() -> None:
    here = threading.get_ident()
    seen: list[tuple[int, int]] = []
    threads: set[str] = set()

    def run(job: int) -> int:
        threads.add(threading.current_thread().name)
        return job * 2

    def done(job: int, result: int) -> None:
        assert threading.get_ident() == here
        seen.append((job, result))

    pool = ThreadPool(4, asyncio.get_running_loop(), run, done)
    for start in range(0, 400, 4):
        for job in range(start, start + 4):
            pool.submit(job)
        await until_async(lambda: pool.busy == 0)
    assert sorted(seen) == [(job, job * 2) for job in range(400)]
    assert 1 <= len(threads) <= 4
    pool.close()


async def test_each_job_has_a_context_of_its_own() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)
    found: list[int] = []

    def run(job: int) -> int:
        before = variable.get()
        variable.set(job)
        return before

    pool = ThreadPool(1, asyncio.get_running_loop(), run, lambda job, result: found.append(result))
    for job in range(1, 4):
        pool.submit(job)
    await until_async(lambda: len(found) == 3)
    assert found == [0, 0, 0]
    pool.close()


async def test_threads_start_on_demand_and_end_on_close() -> None:
    before = set(threading.enumerate())  # a thread of the test before may still be ending

    def alive() -> int:
        return sum(thread.name.startswith("dtq-handler") for thread in set(threading.enumerate()) - before)

    gate = threading.Event()
    pool: ThreadPool[int, bool] = ThreadPool(
        8, asyncio.get_running_loop(), lambda job: gate.wait(10), lambda job, result: None
    )
    for job in range(3):
        pool.submit(job)
    assert alive() == 3
    assert pool.busy == 3
    gate.set()
    await until_async(lambda: pool.busy == 0)
    pool.close()
    await until_async(lambda: alive() == 0)


def test_a_result_after_the_loop_has_closed_is_dropped_in_silence() -> None:
    gate = threading.Event()
    loop = asyncio.new_event_loop()
    pool: ThreadPool[int, bool] = ThreadPool(1, loop, lambda job: gate.wait(10), lambda job, result: None)
    pool.submit(1)
    thread = next(t for t in threading.enumerate() if t.name == "dtq-handler-1")
    loop.close()
    gate.set()
    until(lambda: not thread.is_alive())
