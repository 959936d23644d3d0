"""Simulated processes: each runs the product's own code on a loop and on strands; it can be frozen, stopped, killed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tasks_app.domain.config import Config
from tasks_app.store.keys import Keys
from tasks_app.store.leases import Leases
from tasks_app.store.presence import Presence
from tasks_app.store.schedule import Schedule
from tests.chaos.running import StandingLoop, Strand
from tests.chaos.tasks import Ledger, registry_of
from tests.chaos.wire import AsyncClient, BlockingClient, Call
from workers.engine.control import ControlChannel
from workers.engine.identity import Identity
from workers.engine.lease_keeper import LeaseKeeper
from workers.engine.loops import keep_running
from workers.engine.outage import Outage
from workers.engine.scheduler import Scheduler
from workers.engine.worker import Worker

if TYPE_CHECKING:
    from tests.chaos.clock import Clock
    from tests.chaos.faults import Faults


class Host(Protocol):
    """What a process sees of the world it is in."""

    clock: Clock
    config: Config
    rng: random.Random
    ledger: Ledger
    faults: Faults

    @property
    def late_calls(self) -> int: ...

    def put(self, call: Call) -> None: ...

    def blame(self, what: str) -> None: ...


@dataclass
class Disturbance:
    """Something that befell a process, for which it may lose its leases."""

    at_ms: int
    kind: str


@dataclass(eq=False)
class Process:
    """One life of a process. ``role`` outlives it, ``name`` is of this life alone."""

    world: Host
    role: str
    name: str
    frozen_until: float = 0.0
    dead: bool = False
    strands: list[Strand] = field(default_factory=list)
    disturbances: list[Disturbance] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.loop = StandingLoop(self.world.clock)
        self.loop.set_exception_handler(lambda _, context: self.world.blame(f"{self.name}: {context}"))

    def put(self, call: Call) -> None:
        if self.dead:
            raise ConnectionError("this process is dead")
        self.world.put(call)

    def spawn(self, function: Callable[[], None]) -> Strand:
        strand = Strand(function, lambda error: self.world.blame(f"{self.name}: {error!r}"))
        self.strands.append(strand)
        return strand

    def launch(self, main: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine as the process's main program."""

        async def watched() -> None:
            try:
                await main
            except Exception as error:  # noqa: BLE001 - whatever ends a process is a failure of the schedule
                if not self.dead:
                    self.world.blame(f"{self.name} ended by {error!r}")

        self._main = self.loop.create_task(watched())

    @property
    def frozen(self) -> bool:
        return self.frozen_until > self.world.clock.now

    @property
    def ended(self) -> bool:
        """True when it has left by itself."""
        return self._main.done() and all(strand.dead for strand in self.strands)

    @property
    def finished_for_good(self) -> bool:
        """True when nobody takes its place."""
        return False

    @property
    def next_event(self) -> float | None:
        """When something here goes on by itself."""
        if self.frozen:
            return self.frozen_until
        moments = [s.wake_at for s in self.strands if s.wake_at is not None and not s.dead]
        timer = self.loop.next_timer
        return min(moments + ([] if timer is None else [timer]), default=None)

    def turn(self) -> bool:
        """Run everything that can; false when that was nothing."""
        ran = self.loop.ready
        if ran:
            self.loop.turn()
        now = self.world.clock.now
        for strand in self.strands:
            if not strand.dead and not self.dead and strand.wake_at is not None and strand.wake_at <= now:
                strand.turn()
                ran = True
        return ran

    def disturbed(self, kind: str) -> None:
        self.disturbances.append(Disturbance(self.world.clock.server_ms, kind))

    def stop(self) -> None:
        """SIGTERM."""

    def kill(self) -> None:
        """SIGKILL: all that it knew is gone."""
        if not self.dead:
            self.dead = True
            self.disturbed("crash")
            for strand in self.strands:
                strand.throw_away()
            self.loop.throw_away()

    def bury(self) -> None:
        """Let go of one that has ended."""
        self.dead = True
        self.loop.throw_away()


class _Asked:
    """The lease keeper's event, for which it waits on its strand."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._set = False
        self._strand: Strand | None = None

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        if self._strand is not None:
            self._strand.wake()

    def wait(self, timeout: float) -> bool:
        if not self._set:
            self._strand = Strand.current()
            self._strand.wait_until(self._clock.now + timeout)
            self._strand = None
        return self._set


class StrandedKeeper(LeaseKeeper):
    """The lease keeper on a strand instead of a thread; its code is the product's."""

    process: WorkerProcess

    def start(self) -> None:
        self._stop_asked = _Asked(self.process.world.clock)  # type: ignore[assignment]
        self.process.spawn(self.run)

    def join(self, timeout: float | None = None) -> None:
        """The process has not ended before its strands have."""


class WorkerProcess(Process):
    """``runworker``, with a scheduler in it or without."""

    def start(self, *, queues: tuple[str, ...], concurrency: int, scheduler: bool) -> None:
        config, client = self.world.config, AsyncClient(self)
        self.worker = Worker(
            config,
            Identity(self.name, "host", 1),
            registry_of(self.world.ledger, self.name),
            Leases(client, config),
            Presence(BlockingClient(self), config),
            schedule=Schedule(client, config) if scheduler else None,
            control=ControlChannel(client, Keys(config.key_prefix).control(self.name)),
            queues=queues,
            concurrency=concurrency,
            rng=random.Random(self.world.rng.random()),
        )
        self.launch(self._run())

    async def _run(self) -> None:
        await self.worker.run(handle_signals=False)

    def stop(self) -> None:
        self.loop.call_soon(self.worker.stop)


class SchedulerProcess(Process):
    """``runscheduler``."""

    def start(self) -> None:
        client = AsyncClient(self)
        self._stop = asyncio.Event()
        self.launch(self._run(Schedule(client, self.world.config), random.Random(self.world.rng.random())))

    async def _run(self, schedule: Schedule, rng: random.Random) -> None:
        scheduler = Scheduler(schedule, self.name, self._stop, rng, self.world.clock.monotonic)
        await keep_running("scheduler", scheduler.run_once, outage=Outage(), stop=self._stop, rng=rng)
        await scheduler.resign()

    def stop(self) -> None:
        self.loop.call_soon(self._stop.set)
