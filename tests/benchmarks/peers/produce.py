"""The producer's side, run inside an entrant's environment: ``python -m ...peers.produce APP WHAT COUNT``.

An app is a module below ``apps``: ``submit()`` sends one task and returns when it is accepted; ``submit_many(count)``
is there where the entrant has a bulk call. Both may be coroutine functions; then ``connected()`` may be an
asynchronous context manager around them. Prints one JSON object.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import json
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.benchmarks.peers.tally import FOLDER_VARIABLE, Tallies

BULK = 500
UNCOUNTED = 20
"""Of the tasks sent, so many go before the clock starts: the first ones open connections and import modules."""
PAUSE_S = (0.008, 0.02)
_LONGEST_LATENCY_S = 10.0
_LOOK_S = 0.0005


def main() -> None:
    """Do what the command line says and print how long it took."""
    name, what, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    app = importlib.import_module(f"tests.benchmarks.peers.apps.{name}")
    work = {"single": _single, "bulk": _bulk, "latency": _latency}[what]
    if inspect.iscoroutinefunction(app.submit):
        import uvloop  # the environments of asynchronous entrants have it

        result = uvloop.run(_connected(app, work, count))
    else:
        result = asyncio.run(_connected(app, work, count))
    print(json.dumps(result))


async def _connected(app: Any, work: Callable[[Any, int], Awaitable[dict[str, Any]]], count: int) -> dict[str, Any]:
    async with getattr(app, "connected", _nothing)():
        return await work(app, count)


@contextlib.asynccontextmanager
async def _nothing() -> AsyncIterator[None]:
    yield


async def _single(app: Any, count: int) -> dict[str, Any]:
    # The loops are written twice, so that blocking entrants pay for no coroutine and the others for no bridge.
    if inspect.iscoroutinefunction(app.submit):
        for _ in range(UNCOUNTED):
            await app.submit()
        begun = time.perf_counter()
        for _ in range(count - UNCOUNTED):
            await app.submit()
    else:
        for _ in range(UNCOUNTED):
            app.submit()
        begun = time.perf_counter()
        for _ in range(count - UNCOUNTED):
            app.submit()
    return {"tasks_per_s": (count - UNCOUNTED) / (time.perf_counter() - begun)}


async def _bulk(app: Any, count: int) -> dict[str, Any]:
    await _if_needed(app.submit_many(UNCOUNTED))
    begun = time.perf_counter()
    for first in range(UNCOUNTED, count, BULK):
        await _if_needed(app.submit_many(min(BULK, count - first)))
    return {"tasks_per_s": (count - UNCOUNTED) / (time.perf_counter() - begun)}


async def _if_needed(sent: Any) -> None:
    if inspect.isawaitable(sent):
        await sent


async def _latency(app: Any, count: int) -> dict[str, Any]:
    tallies = Tallies(Path(os.environ[FOLDER_VARIABLE]))
    expected = tallies.total()
    latencies = []
    for probe in range(count + UNCOUNTED):
        await asyncio.sleep(random.uniform(*PAUSE_S))
        before = time.monotonic_ns()
        await _if_needed(app.submit())
        expected += 1
        while tallies.total() < expected:
            if time.monotonic_ns() - before > _LONGEST_LATENCY_S * 1e9:
                raise TimeoutError(f"Probe {probe} was not run")
            await asyncio.sleep(_LOOK_S)
        if probe >= UNCOUNTED:
            latencies.append((tallies.last_ns() - before) / 1e6)
    return {"latencies_ms": latencies}


if __name__ == "__main__":
    main()
