"""The soak's handlers. Each run leaves a line in the ledger when it starts and one when it ends."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tasks_app.handlers import PermanentError, RetryableError, RetryPolicy, TaskContext, task

FOLDER_VARIABLE = "SOAK_FOLDER"
_QUICKLY = RetryPolicy(base=0.2, maximum=1.0)


@functools.cache
def _ledger() -> int:
    # A line is one write to a file opened for appending, so lines of several processes never mix.
    return os.open(Path(os.environ[FOLDER_VARIABLE], "ledger"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def _write(ctx: TaskContext, what: str) -> None:
    os.write(_ledger(), f"{ctx.task_id} {ctx.attempt} {what} {os.getpid()} {time.time():.3f}\n".encode())


@contextmanager
def noted(ctx: TaskContext) -> Iterator[None]:
    """Enter the run in the ledger: ``start``, and ``done``, ``retryable``, ``failed`` or ``stopped``."""
    _write(ctx, "start")
    try:
        yield
    except RetryableError:
        _write(ctx, "retryable")
        raise
    except PermanentError:
        _write(ctx, "failed")
        raise
    except BaseException:
        _write(ctx, "stopped")
        raise
    _write(ctx, "done")


@task("soak.work", retry=_QUICKLY)
async def work(payload: dict[str, Any], ctx: TaskContext) -> int:
    """Take ``seconds`` on the loop, after ``fail_times`` attempts that fail."""
    with noted(ctx):
        if ctx.attempt <= payload.get("fail_times", 0):
            raise RetryableError("fails a few times")
        await asyncio.sleep(payload.get("seconds", 0))
        return ctx.attempt


@task("soak.thread", retry=_QUICKLY)
def thread(payload: dict[str, Any], ctx: TaskContext) -> int:
    """Take ``seconds`` in a thread, in steps between which it can be stopped."""
    with noted(ctx):
        end = time.monotonic() + payload.get("seconds", 0)
        while time.monotonic() < end:
            ctx.raise_if_cancelled()
            time.sleep(0.02)
        ctx.log("done")
        return ctx.attempt


@task("soak.fail")
async def fail(payload: dict[str, Any], ctx: TaskContext) -> None:
    """Fail for good."""
    with noted(ctx):
        raise PermanentError(f"order {payload['n']} cannot be done")


@task("soak.hopeless", retry=_QUICKLY)
async def hopeless(payload: dict[str, Any], ctx: TaskContext) -> None:
    """Fail every attempt."""
    with noted(ctx):
        raise RetryableError("never works")


@task("soak.broken")
async def broken(payload: dict[str, Any], ctx: TaskContext) -> int:
    """Fail for good until somebody has repaired the cause."""
    with noted(ctx):
        if not cure(Path(os.environ[FOLDER_VARIABLE]), ctx.task_id).exists():
            raise PermanentError("a bad deploy")
        return ctx.attempt


def cure(folder: Path, task_id: str) -> Path:
    """The file whose existence repairs the cause of a ``soak.broken`` task's failure."""
    return folder / "cures" / task_id


@task("soak.crash")
async def crash(payload: dict[str, Any], ctx: TaskContext) -> int:
    """Kill the worker process during the first ``times`` attempts."""
    with noted(ctx):
        if ctx.attempt <= payload["times"]:
            os.kill(os.getpid(), signal.SIGKILL)
        return ctx.attempt


@task("soak.big")
def big(payload: dict[str, Any], ctx: TaskContext) -> dict[str, Any]:
    """Return a large payload, if it has arrived as it was sent."""
    with noted(ctx):
        if hashlib.sha256(payload["blob"].encode()).hexdigest() != payload["sha256"]:
            raise PermanentError("the payload has changed on its way")
        return payload
