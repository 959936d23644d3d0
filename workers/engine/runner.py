"""From settings to a running loop: what ``runworker`` and ``runscheduler`` share."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import signal
import sys
from collections.abc import Coroutine
from typing import Any

import structlog
import uvloop

from tasks_app.domain.config import Config
from tasks_app.handlers import Registry
from tasks_app.store.connections import connect, connect_async
from tasks_app.store.keys import Keys
from tasks_app.store.leases import Leases
from tasks_app.store.operations import Operations
from tasks_app.store.presence import Presence
from tasks_app.store.schedule import Schedule
from workers.engine.control import ControlChannel
from workers.engine.executor import Surroundings
from workers.engine.guard import LeaseGuard
from workers.engine.identity import new_identity
from workers.engine.loops import keep_running
from workers.engine.outage import Outage
from workers.engine.scheduler import Scheduler
from workers.engine.worker import Worker

log = structlog.get_logger(__name__)


def run_worker(
    config: Config,
    url: str,
    registry: Registry,
    *,
    queues: tuple[str, ...],
    concurrency: int | None,
    scheduler: bool,
    surroundings: Surroundings,
    version: str,
) -> None:
    """Run one worker in this process until SIGTERM or SIGINT. Redis need not be there yet.

    Handlers that are still inside a thread when the worker has left cannot be waited for, so then this ends the
    process itself, with status 0.
    """

    async def main() -> int:
        identity = new_identity()
        client = connect_async(url, key_prefix=config.key_prefix)
        blocking = connect(url, key_prefix=config.key_prefix)
        worker = Worker(
            config,
            identity,
            registry,
            Leases(client, config),
            Presence(blocking, config),
            schedule=Schedule(client, config, Operations(blocking, config)) if scheduler else None,
            control=ControlChannel(client, Keys(config.key_prefix).control(identity.worker_id)),
            guard=LeaseGuard(config, url, identity.worker_id),
            queues=queues,
            concurrency=concurrency,
            surroundings=surroundings,
            version=version,
        )
        try:
            await worker.run()
        finally:
            await client.aclose()
            blocking.close()
        return worker.threads_busy

    gc.collect()
    gc.freeze()  # what is loaded by now stays: no collection need walk it again, which a busy worker does often
    stuck = _run(main())
    if stuck:
        log.warning("THREADS_LEFT_RUNNING", threads=stuck)
        _end_process()


def run_scheduler(config: Config, url: str) -> None:
    """Run a scheduler alone in this process until SIGTERM or SIGINT. Redis need not be there yet."""

    async def main() -> None:
        identity = new_identity()
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        client = connect_async(url, key_prefix=config.key_prefix)
        blocking = connect(url, key_prefix=config.key_prefix)
        rng = random.Random()  # noqa: S311 - jitter
        scheduler = Scheduler(Schedule(client, config, Operations(blocking, config)), identity.worker_id, stop, rng)
        log.info("SCHEDULER_STARTED", owner=identity.worker_id)
        try:
            await keep_running("scheduler", scheduler.run_once, outage=Outage(), stop=stop, rng=rng)
            await scheduler.resign()
        finally:
            await client.aclose()
            blocking.close()
        log.info("SCHEDULER_STOPPED", owner=identity.worker_id)

    _run(main())


def _run(main: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)


def _end_process() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)
