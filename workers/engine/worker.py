"""One worker process: puts the parts together, runs their loops, and leaves in good order."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Awaitable, Callable, Sequence

import structlog

from tasks_app.domain.config import Config
from tasks_app.domain.wish import Wish
from tasks_app.handlers import Registry
from tasks_app.store.leases import Claimed, Leases
from tasks_app.store.presence import Heartbeat, Presence, Renewal
from tasks_app.store.schedule import Schedule
from workers.engine.committer import Committer
from workers.engine.control import ControlChannel
from workers.engine.duty import Duty
from workers.engine.execution import Execution, Slots
from workers.engine.executor import Executor, Surroundings
from workers.engine.fetcher import Fetcher
from workers.engine.guard import LeaseGuard
from workers.engine.identity import Identity
from workers.engine.lease_keeper import LeaseKeeper
from workers.engine.leaving import Leaving
from workers.engine.loops import keep_running
from workers.engine.notes import NoteBook
from workers.engine.outage import Outage
from workers.engine.reaper import Reaper
from workers.engine.scheduler import Scheduler
from workers.engine.signals import StopSignals, left_to_this_thread
from workers.engine.verdicts import Judge
from workers.engine.watchdog import LoopClock, Watchdog

log = structlog.get_logger(__name__)

MAX_RUNNING_SHOWN = 100


class Worker:
    """Claims and runs tasks until it is told to stop.

    Args:
        queues: served in this order; none means every queue.
        schedule: given, this worker is also a candidate for the scheduler's lead.
        control: the worker's channel for cancel requests; without one they take up to a second.
        guard: keeps the leases while a handler blocks the whole interpreter; without one they run out meanwhile.
    """

    def __init__(
        self,
        config: Config,
        identity: Identity,
        registry: Registry,
        leases: Leases,
        presence: Presence,
        *,
        schedule: Schedule | None = None,
        control: ControlChannel | None = None,
        guard: LeaseGuard | None = None,
        queues: tuple[str, ...] = (),
        concurrency: int | None = None,
        surroundings: Surroundings | None = None,
        version: str = "",
        rng: random.Random | None = None,
    ) -> None:
        self._config = config
        self._identity = identity
        self._registry = registry
        self._leases = leases
        self._presence = presence
        self._schedule = schedule
        self._control = control
        self._guard = guard
        self._queues = queues
        self._surroundings = surroundings or Surroundings()
        self._version = version
        self._rng = rng or random.Random()  # noqa: S311 - jitter
        self._started_at_s = time.time()
        self._outage = Outage()
        self._leased: dict[str, Execution] = {}
        self._duty = Duty()
        self._resting = False
        self._ended = asyncio.Event()
        self._slots = Slots(concurrency or config.worker_concurrency)

    def stop(self) -> None:
        """On the loop: the first call drains, the second gives everything back at once."""
        self._duty.signal()
        self._slots.wake()

    async def run(self, *, handle_signals: bool = True) -> None:
        """Work until stopped; returns when every outcome is written and every unfinished task given back."""
        loop = asyncio.get_running_loop()
        self._build(loop)
        if handle_signals:
            self._signals.install()
        self._ticks.start()
        with left_to_this_thread():
            self._keeper.start()
        log.info(
            "WORKER_STARTED",
            worker_id=self._identity.worker_id,
            concurrency=self._slots.concurrency,
            queues=list(self._queues) or "all",
            task_types=len(self._registry.names()),
            scheduler=self._schedule is not None,
        )
        fetching = asyncio.create_task(self._fetch(), name="fetcher")
        background = [
            self._loop_task("committer", self._committer.run_once, self._ended),
            self._loop_task("notes", self._notes.run_once, self._ended),
        ]
        if self._control is not None:
            background.append(self._loop_task("control channel", self._listen, self._ended))
        scheduling = None
        if self._scheduler is not None:
            scheduling = self._loop_task("scheduler", self._scheduler.run_once, self._duty.leaving)
        try:
            await fetching
            await self._leave(scheduling)
        finally:
            self._ended.set()
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            await self._committer.last_flush()
            if self._control is not None:
                await self._control.close()
            self._ticks.stop()
            self._executor.close()
            self._keeper.stop(leave=True)
            await loop.run_in_executor(None, self._keeper.join, 2.0)
            log.info("WORKER_STOPPED", worker_id=self._identity.worker_id, processed=self._committer.processed)

    @property
    def threads_busy(self) -> int:
        """Handlers still inside a thread: with any left, the process has to be ended the hard way."""
        return self._executor.threads_busy

    def _build(self, loop: asyncio.AbstractEventLoop) -> None:
        worker_id = self._identity.worker_id
        self._notes = NoteBook(self._leases, worker_id, loop)
        self._committer = Committer(self._leases, worker_id, self._slots, self._notes, self._leased)
        self._executor = Executor(
            self._config,
            self._registry,
            Judge(self._config, self._rng),
            self._slots,
            self._committer,
            self._notes,
            self._leased,
            loop,
            self._surroundings,
        )
        self._leaving = Leaving(self._leases, worker_id, self._executor, self._leased, self._duty)
        self._reaper = Reaper(self._leases, worker_id, self._queues, self._rng)
        self._renew_fetcher()
        self._scheduler = (
            None if self._schedule is None else Scheduler(self._schedule, worker_id, self._duty.leaving, self._rng)
        )
        self._loop = loop
        self._signals = StopSignals(loop, self.stop, self._config.drain_timeout_s)
        self._ticks = LoopClock(loop)
        self._keeper = LeaseKeeper(
            self._presence,
            worker_id,
            self._leased,
            lease_s=self._config.visibility_timeout_s,
            heartbeat_every_s=self._config.heartbeat_interval_s,
            beat=self._beat,
            on_renewal=self._on_renewal,
            on_wish=self._on_wish,
            watchdog=Watchdog(
                loop,
                threading.get_ident(),
                self._ticks,
                self._leased,
                limit_s=max(1.0, self._config.visibility_timeout_s / 6),
                on_stuck=self._signals.enforce,
            ),
            outage=self._outage,
            rng=self._rng,
            guard=self._guard,
        )

    def _renew_fetcher(self) -> None:
        self._off = self._duty.off
        self._fetcher = Fetcher(
            self._leases,
            self._identity.worker_id,
            self._queues,
            self._slots,
            self._executor,
            self._reaper,
            self._off,
            announce=self._announce,
        )

    def _announce(self, tasks: Sequence[Claimed]) -> None:
        if self._guard is not None:
            self._guard.claimed(tasks)

    def _loop_task(self, name: str, step: Callable[[], Awaitable[None]], stop: asyncio.Event) -> asyncio.Task[None]:
        return asyncio.create_task(keep_running(name, step, outage=self._outage, stop=stop, rng=self._rng), name=name)

    async def _listen(self) -> None:
        assert self._control is not None
        await self._control.run_once(self._executor.cancel, self._keeper.beat_soon)

    async def _fetch(self) -> None:
        """Take tasks whenever the worker is to, until it leaves. Claims that are answered too late go to others."""
        while True:
            await self._loop_task("fetcher", self._fetcher.run_once, self._off)
            if self._fetcher.unstarted:
                await self._leaving.give_back(self._fetcher.unstarted)
            if self._duty.quiet:
                self._outage.worked("fetcher")  # it asks no more, and the heartbeat that told it so was answered
                await self._rest()
            if self._duty.leaving.is_set():
                return
            self._renew_fetcher()
            self._reaper.postpone()  # an outage meanwhile was not noticed here

    async def _rest(self) -> None:
        """Until it is decided what comes next, be shown as quiet: not before here, where no claim is on its way."""
        self._resting = True
        self._keeper.beat_soon()
        await self._duty.decided.wait()
        self._resting = False
        self._keeper.beat_soon()

    async def _leave(self, scheduling: asyncio.Task[None] | None) -> None:
        log.info("WORKER_DRAINING", running=len(self._leased), at_most_s=self._config.drain_timeout_s)
        self._keeper.beat_soon()
        if scheduling is not None and self._scheduler is not None:
            await scheduling
            await self._scheduler.resign()
        await self._leaving.drain(self._config.drain_timeout_s)

    # --- called by the lease keeper's thread

    def _on_renewal(self, renewal: Renewal, asked: Sequence[tuple[str, int]]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._obey, renewal, dict(asked))

    def _obey(self, renewal: Renewal, attempts: dict[str, int]) -> None:
        self._executor.lost((task_id, attempts[task_id]) for task_id in renewal.lost)
        for task_id in renewal.cancel:
            self._executor.cancel(task_id)

    def _on_wish(self, wish: Wish | None) -> None:
        if wish is Wish.STOP:
            self._signals.expect_end()
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._follow, wish)

    def _follow(self, wish: Wish | None) -> None:
        if self._duty.follow(wish):
            self._slots.wake()

    def _state(self, occupied: int) -> str:
        if self._duty.leaving.is_set():
            return "draining"
        if self._resting:
            return "quiet"
        return "busy" if occupied >= self._slots.concurrency else "ready"

    def _beat(self) -> Heartbeat:
        slots = self._slots
        occupied = slots.occupied
        held = len(self._executor.detached)
        notes = ["disconnected"] if self._outage.down else []
        if held:
            notes.append(f"{held} of {slots.concurrency} slots held by handlers that have not stopped")
        return Heartbeat(
            worker_id=self._identity.worker_id,
            host=self._identity.host,
            pid=self._identity.pid,
            version=self._version,
            started_at_s=self._started_at_s,
            state=self._state(occupied),
            concurrency=slots.concurrency,
            occupied=occupied,
            queues=self._queues,
            processed=self._committer.processed,
            failed=self._committer.failed,
            running=tuple(self._leased.copy())[:MAX_RUNNING_SHOWN],
            note="; ".join(notes),
            task_types=tuple(self._registry.names()),
            fetching=self._fetcher.fetching,
            drain_timeout_s=self._config.drain_timeout_s,
        )
