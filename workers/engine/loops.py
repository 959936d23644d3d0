"""The shell around every ``run_once``: nothing that goes wrong in a step ends its loop."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import structlog

from tasks_app.domain.errors import StoreUnavailable
from workers.engine.backoff import Backoff
from workers.engine.outage import Outage

log = structlog.get_logger(__name__)


async def keep_running(
    name: str,
    step: Callable[[], Awaitable[None]],
    *,
    outage: Outage,
    stop: asyncio.Event,
    rng: random.Random,
) -> None:
    """Run ``step`` until ``stop`` is set; after a failure wait a little (exponential, jittered, 2 s at most) and go on.

    ``StoreUnavailable`` is expected weather and goes to ``outage``. Anything else is a bug of ours: logged with its
    traceback, and the loop still goes on, because a worker that looks alive and does nothing is the worse failure.
    """
    backoff = Backoff(rng)
    while not stop.is_set():
        try:
            await step()
        except StoreUnavailable as error:
            delay = backoff.next_s()
            outage.failed(name, error, retry_in_s=delay)
            await pause(stop, delay)
        except Exception:
            delay = max(1.0, backoff.next_s())
            log.exception("LOOP_STEP_FAILED", loop=name, retry_in_s=round(delay, 2))
            await pause(stop, delay)
        else:
            outage.worked(name)
            backoff.reset()


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Wait ``seconds``, or less when ``stop`` is set meanwhile; for 0 let the other tasks of the loop have a turn."""
    if seconds <= 0:
        await asyncio.sleep(0)
        return
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return
