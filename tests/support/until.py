"""Waiting for facts. The only place in the tests that may pause, because it knows what it is waiting for."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
_PAUSE_S = 0.01


def until(predicate: Callable[[], T], timeout: float = 10.0, what: str = "") -> T:
    """Ask ``predicate`` until its answer is true, and return that answer.

    Raises:
        AssertionError: ``timeout`` seconds went by; the message has ``what`` and the last answer.
    """
    deadline = time.monotonic() + timeout
    while True:
        answer = predicate()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(_late(what, timeout, answer))
        time.sleep(_PAUSE_S)


async def until_async(
    predicate: Callable[[], T | Awaitable[T]],
    timeout: float = 10.0,  # noqa: ASYNC109  (the same call as until's)
    what: str = "",
) -> T:
    """Like :func:`until` on a running loop; ``predicate`` may be a coroutine function."""
    deadline = time.monotonic() + timeout
    while True:
        asked = predicate()
        answer: T = await asked if inspect.isawaitable(asked) else asked
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(_late(what, timeout, answer))
        await asyncio.sleep(_PAUSE_S)


def _late(what: str, timeout: float, answer: object) -> str:
    return f"not within {timeout:g} s: {what or 'the condition'} (last answer: {answer!r})"
