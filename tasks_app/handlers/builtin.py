"""Demo handlers: enough to try every behaviour of the queue, loaded only when ``DTQ_DEMO_TASKS`` allows it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections.abc import Callable
from typing import Any

import redis

from tasks_app.domain.retry import RetryPolicy
from tasks_app.handlers.context import TaskContext
from tasks_app.handlers.errors import PermanentError, RetryableError
from tasks_app.handlers.registry import Registry
from tasks_app.store.keys import Keys

COUNTER_TTL_S = 86_400
_COUNTER_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NAP_S = 0.05

Counter = Callable[[str], int]
"""Adds one to the counter of that name and returns its new value."""


def redis_counter(client: redis.Redis, keys: Keys) -> Counter:
    """The counter of the ``count`` handler: a Redis string that lives a day after its last increment."""

    def increment(name: str) -> int:
        with client.pipeline(transaction=True) as pipe:
            pipe.incr(keys.demo_counter(name))
            pipe.expire(keys.demo_counter(name), COUNTER_TTL_S)
            return int(pipe.execute()[0])

    return increment


def register_demo_tasks(registry: Registry, counter: Counter) -> None:
    """Declare the demo handlers in ``registry``."""

    @registry.task("noop")
    async def noop(payload: dict[str, Any], ctx: TaskContext) -> None:
        """Do nothing, on the loop."""

    @registry.task("noop_sync")
    def noop_sync(payload: dict[str, Any], ctx: TaskContext) -> None:
        """Do nothing, in a thread."""

    @registry.task("echo")
    async def echo(payload: dict[str, Any], ctx: TaskContext) -> dict[str, Any]:
        """Return the payload."""
        return payload

    @registry.task("sleep")
    async def sleep(payload: dict[str, Any], ctx: TaskContext) -> dict[str, float]:
        """Wait ``seconds`` on the loop."""
        seconds = _number(payload, "seconds", 1.0, 0, 3600)
        await asyncio.sleep(seconds)
        return {"slept": seconds}

    @registry.task("sleep_sync")
    def sleep_sync(payload: dict[str, Any], ctx: TaskContext) -> dict[str, float]:
        """Wait ``seconds`` in a thread; stops early when cancelled."""
        seconds = _number(payload, "seconds", 1.0, 0, 3600)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            ctx.raise_if_cancelled()
            time.sleep(min(_NAP_S, left))
        return {"slept": seconds}

    @registry.task("flaky", retry=RetryPolicy(base=0.5, maximum=5.0))
    async def flaky(payload: dict[str, Any], ctx: TaskContext) -> dict[str, int]:
        """Fail ``fail_times`` attempts, then succeed."""
        fail_times = int(_number(payload, "fail_times", 2, 0, 1000))
        if ctx.attempt <= fail_times:
            raise RetryableError(f"Failing on purpose, attempt {ctx.attempt} of {fail_times} that fail")
        return {"attempts": ctx.attempt}

    @registry.task("fail")
    async def fail(payload: dict[str, Any], ctx: TaskContext) -> None:
        """Fail with ``message``: permanently, unless ``retryable``."""
        message = str(payload.get("message", "Failing on purpose"))
        raise (RetryableError if payload.get("retryable") is True else PermanentError)(message)

    @registry.task("count")
    def count(payload: dict[str, Any], ctx: TaskContext) -> int:
        """Add one to the Redis counter named ``counter`` and return it: shows how often a task really ran."""
        name = payload.get("counter", "default")
        if not isinstance(name, str) or _COUNTER_NAME.fullmatch(name) is None:
            raise PermanentError(f"counter must match {_COUNTER_NAME.pattern}")
        return counter(name)

    @registry.task("crash")
    def crash(payload: dict[str, Any], ctx: TaskContext) -> None:
        """Kill the worker process that runs it, as the kernel does when memory is short."""
        os.kill(os.getpid(), signal.SIGKILL)

    @registry.task("report")
    async def report(payload: dict[str, Any], ctx: TaskContext) -> dict[str, int]:
        """Take ``steps`` steps over ``seconds`` and tell about each: progress and a log line."""
        steps = int(_number(payload, "steps", 5, 1, 1000))
        seconds = _number(payload, "seconds", 5.0, 0, 3600)
        for step in range(1, steps + 1):
            await asyncio.sleep(seconds / steps)
            ctx.progress(step / steps, f"step {step} of {steps}")
            ctx.log(f"step {step} done")
        return {"steps": steps}

    @registry.task("primes")
    def primes(payload: dict[str, Any], ctx: TaskContext) -> dict[str, int]:
        """Count the primes up to ``limit`` by trial division: honest work for a processor, in a thread."""
        limit = int(_number(payload, "limit", 10_000, 0, 10_000_000))
        found: list[int] = []
        for candidate in range(2, limit + 1):
            if candidate % 1024 == 0:
                ctx.raise_if_cancelled()
                ctx.progress(candidate / limit)
            if _is_prime(candidate, found):
                found.append(candidate)
        return {"limit": limit, "primes": len(found)}

    @registry.task("unserialisable")
    async def unserialisable(payload: dict[str, Any], ctx: TaskContext) -> set[str]:
        """Return what JSON cannot hold."""
        return {"a set", "is no JSON"}


def _is_prime(candidate: int, smaller: list[int]) -> bool:
    for prime in smaller:
        if prime * prime > candidate:
            return True
        if candidate % prime == 0:
            return False
    return True


def _number(payload: dict[str, Any], name: str, default: float, low: float, high: float) -> float:
    value = payload.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise PermanentError(f"{name} must be a number {low:g}..{high:g}, not {value!r}"[:200])
    return float(value)
