"""Handlers for the process tests, loaded through ``DTQ_TASK_MODULES``.

Each run is written to a ledger in Redis before and after its work, so that the end of a test can compare what really
ran with what the queue says.
"""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import threading
import time
from typing import Any

import redis

from tasks_app.handlers import TaskContext, task
from tasks_app.store.connections import connect


@functools.cache
def _ledger() -> redis.Redis:
    return connect(os.environ["DTQ_REDIS_URL"])


def note(what: str, ctx: TaskContext) -> None:
    """Count ``what`` for this task, under a key that the queue knows nothing of."""
    _ledger().incr(f"ledger:{what}:{ctx.task_id}")


@task("ledger")
async def ledger(payload: dict[str, Any], ctx: TaskContext) -> int:
    """Sleep ``seconds``, or until ``released`` where it is ``held``, on the loop."""
    note("start", ctx)
    await asyncio.sleep(payload.get("seconds", 0))
    while payload.get("held") and not released(ctx):  # noqa: ASYNC110 - what it waits for is in Redis
        await asyncio.sleep(0.02)
    note("end", ctx)
    return ctx.attempt


def released(ctx: TaskContext) -> bool:
    """True once the test has let this task go."""
    return bool(_ledger().exists(f"ledger:release:{ctx.task_id}"))


def enter(what: str, ctx: TaskContext) -> None:
    """Write a line into the ledger that outlives the server: what, id, attempt, moment (of this machine's clock)."""
    line = f"{what} {ctx.task_id} {ctx.attempt} {time.monotonic():.4f}\n"
    with open(os.environ["DTQ_TEST_LEDGER"], "a", encoding="utf-8") as file:
        file.write(line)  # one write of a short line: those of several processes do not mix


@task("effect")
async def effect(payload: dict[str, Any], ctx: TaskContext) -> int:
    """Sleep ``seconds`` on the loop, with an effect that needs no Redis."""
    enter("start", ctx)
    await asyncio.sleep(payload.get("seconds", 0))
    enter("end", ctx)
    return ctx.attempt


@task("effect_held")
def effect_held(payload: dict[str, Any], ctx: TaskContext) -> int:
    """The same while no other thread of the process gets its turn."""
    enter("start", ctx)
    hold(payload["seconds"])
    enter("end", ctx)
    return ctx.attempt


def hold(seconds: float) -> None:
    """One call in C that keeps the interpreter's lock for about ``seconds``."""
    step = 5_000_000
    pace = min(_seconds_to_sum(step) for _ in range(3)) / step  # one that was held up would be far too slow
    sum(range(int(seconds / pace)))


def _seconds_to_sum(numbers: int) -> float:
    began = time.perf_counter()
    sum(range(numbers))
    return time.perf_counter() - began


@task("effect_sync")
def effect_sync(payload: dict[str, Any], ctx: TaskContext) -> int:
    """The same in a thread."""
    enter("start", ctx)
    threading.Event().wait(payload.get("seconds", 0))
    enter("end", ctx)
    return ctx.attempt


@task("ledger_sync")
def ledger_sync(payload: dict[str, Any], ctx: TaskContext) -> int:
    """The same in a thread, deaf to everything."""
    note("start", ctx)
    threading.Event().wait(payload.get("seconds", 0))
    while payload.get("held") and not released(ctx):
        threading.Event().wait(0.02)
    note("end", ctx)
    return ctx.attempt


@task("block_loop")
async def block_loop(payload: dict[str, Any], ctx: TaskContext) -> int:
    """What no coroutine may do: block the loop for ``seconds``."""
    note("start", ctx)
    time.sleep(payload["seconds"])  # noqa: ASYNC251
    note("end", ctx)
    return ctx.attempt


@task("hold_interpreter")
def hold_interpreter(payload: dict[str, Any], ctx: TaskContext) -> int:
    """One call in C that keeps the interpreter's lock for about ``seconds``: no other thread runs meanwhile."""
    note("start", ctx)
    hold(payload["seconds"])
    note("end", ctx)
    return ctx.attempt


@task("deaf")
async def deaf(payload: dict[str, Any], ctx: TaskContext) -> int:
    """Swallow every cancellation until it is ``released``."""
    note("start", ctx)
    while not released(ctx):
        try:
            await asyncio.sleep(0.1)
        except asyncio.CancelledError:
            note("cancelled", ctx)
    note("end", ctx)
    return ctx.attempt


@task("raise_it")
async def raise_it(payload: dict[str, Any], ctx: TaskContext) -> None:
    """Raise what ends a program or a loop."""
    note("start", ctx)
    raise {"SystemExit": SystemExit, "KeyboardInterrupt": KeyboardInterrupt, "CancelledError": asyncio.CancelledError}[
        payload["what"]
    ]()


@task("end_process")
def end_process(payload: dict[str, Any], ctx: TaskContext) -> None:
    """Take the process down, or try to: ``how`` is exit, kill or memory."""
    note("start", ctx)
    if payload["how"] == "exit":
        os._exit(1)
    if payload["how"] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    bytearray(1 << 60)


@task("database")
def database(payload: dict[str, Any], ctx: TaskContext) -> int:
    """Ask Django's database something, in a thread."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT 41 + 1")
        (answer,) = cursor.fetchone()
    return int(answer)


@task("database_async")
async def database_async(payload: dict[str, Any], ctx: TaskContext) -> int:
    """The same from a coroutine."""
    from asgiref.sync import sync_to_async

    return await sync_to_async(database)(payload, ctx)
