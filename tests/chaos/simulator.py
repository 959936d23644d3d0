"""Runs schedules: puts the product's parts into a simulated world, lets it rage and calm down, and sums up."""

from __future__ import annotations

import contextlib
import gc
import random
import traceback
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import workers.engine
from tasks_app.domain.config import Config
from tasks_app.store import scripts as store_scripts
from tasks_app.store.connections import connect
from tasks_app.store.keys import Keys
from tests.chaos.clock import EPOCH_US, SHADOW, Clock
from tests.chaos.oracle import Totals
from tests.chaos.people import Operator, Producer, orders
from tests.chaos.process import Process, SchedulerProcess, StrandedKeeper, WorkerProcess
from tests.chaos.server import Server
from tests.chaos.trace import Trace
from tests.chaos.world import Role, World
from tests.support import invariants
from tests.support.builders import make_config
from tests.support.keyspace import RawClient
from workers.engine.reaper import Reaper
from workers.engine.scheduler import Scheduler
from workers.engine.watchdog import LoopClock, Watchdog

CONFIG = make_config(visibility_timeout_s=4.5, heartbeat_interval_s=1.5, drain_timeout_s=2.0)
PEACE_S = 400.0
"""Simulated seconds within which everything must have ended once the faults are over."""
LEAVING_S = 60.0
LOOKS_EVERY_S = 0.5
COLLECT_EVERY = 30
ALARMING = frozenset({"exception", "error", "critical"})


@dataclass
class Outcome:
    """What one schedule was. ``failures`` is empty when all held."""

    seed: int
    failures: list[str]
    totals: Totals
    faults: Counter[str]
    simulated_s: float
    drained_after_s: float
    trace: Trace


class Simulator:
    """A context manager over a real server of its own, given by URL; ``run(seed)`` runs one schedule on it, emptied."""

    def __init__(self, url: str, config: Config = CONFIG) -> None:
        self._config = config
        self._clock = Clock()
        self._server = Server(connect(url), self._clock)
        self._seams = contextlib.ExitStack()
        self._world: World | None = None
        self._schedules = 0

    def __enter__(self) -> Simulator:
        prelude = store_scripts.prelude
        self._patch("tasks_app.store.scripts.prelude", lambda keys, config: f"{SHADOW}\n{prelude(keys, config)}")
        self._patch("time.monotonic", self._clock.monotonic)
        self._patch("time.time", lambda: self._clock.server_us / 1_000_000)
        for part in (Reaper, Scheduler, LoopClock, Watchdog):
            self._patch(f"workers.engine.worker.{part.__name__}", partial(part, clock=self._clock.monotonic))
        self._patch("workers.engine.worker.LeaseKeeper", self._keeper)
        for module in Path(workers.engine.__file__).parent.glob("*.py"):
            self._patch(f"workers.engine.{module.stem}.log", _Log(self._blame), missing=True)
        self._load_scripts()
        # A schedule leaves its garbage in circles. The collector would walk through all that is loaded to find them.
        gc.freeze()
        self._seams.callback(gc.unfreeze)
        gc.disable()
        self._seams.callback(gc.enable)
        return self

    def __exit__(self, *error: object) -> None:
        self._seams.close()
        self._server.close()

    def run(self, seed: int) -> Outcome:
        """Run the schedule of a seed."""
        self._schedules += 1
        if self._schedules % COLLECT_EVERY == 0:
            gc.collect()
        self._server.empty()
        self._clock.set_to(0)
        chance = random.Random(f"secrets {seed}")
        # Ten-minute spans that were never lived through need not be summed up.
        self._server.send("SET", Keys(self._config.key_prefix).rolled, EPOCH_US // 600_000_000)
        world = World(seed, self._server, self._clock, self._config)
        self._world = world
        with (
            mock.patch("secrets.randbits", chance.getrandbits),
            mock.patch("secrets.token_hex", lambda size: f"{chance.getrandbits(8 * size):0{2 * size}x}"),
        ):
            drained_after_s = _live(world)
        return Outcome(
            seed,
            world.failures,
            world.oracle.totals,
            world.faults.injected,
            self._clock.us / 1e6,
            drained_after_s,
            world.trace,
        )

    def _keeper(self, *args: Any, **options: Any) -> StrandedKeeper:
        keeper = StrandedKeeper(*args, **options)
        assert self._world is not None
        # Its worker is the process whose turn it is, and is known by the worker's id.
        keeper.process = next(p for p in self._world.processes if isinstance(p, WorkerProcess) and p.name == args[1])
        return keeper

    def _blame(self, what: str) -> None:
        if self._world is not None:
            self._world.blame(what)

    def _patch(self, target: str, replacement: object, *, missing: bool = False) -> None:
        module, _, name = target.rpartition(".")
        if not missing or hasattr(_import(module), name):
            self._seams.enter_context(mock.patch(target, replacement))

    def _load_scripts(self) -> None:
        rendered = store_scripts._Rendered(self._config)
        folder = Path(store_scripts.__file__).parent / "lua"
        names: dict[str, str] = {}
        for path in sorted(folder.glob("*.lua")):
            text, digest = rendered[path.stem]
            names |= {text: path.stem, digest: path.stem}
            self._server.send("SCRIPT", "LOAD", text)
        self._server.scripts = names


def _import(name: str) -> Any:
    return __import__(name, fromlist=["_"])


class _Log:
    """Takes the place of the engine's loggers: what they call an error is a failure of the schedule."""

    def __init__(self, blame: Any) -> None:
        self._blame = blame

    def __getattr__(self, level: str) -> Any:
        return self._alarm if level in ALARMING else _nothing

    def _alarm(self, event: str, **context: Any) -> None:
        self._blame(f"the engine logs {event} {context}: {traceback.format_exc(limit=-3)}")


def _nothing(event: str, **context: Any) -> None:
    """What is no error is not kept."""


def _live(world: World) -> float:
    """Let a world rage, calm down, and end. Returns how many seconds of calm it took until all tasks had ended."""
    rng, failures = world.rng, world.failures
    rages_s = rng.uniform(2, 11)
    notebooks = _populate(world, rages_s)
    look_at_s = rng.uniform(0, rages_s)
    world.run(lambda: False, look_at_s)
    if not world.streams_lost:  # until the leader has repaired that, the waiting tasks are without entries
        _hold_invariants(world)
    world.run(lambda: False, rages_s - look_at_s)
    world.calm_down()
    calm_at = world.clock.now
    for process in world.processes:
        if isinstance(process, Operator):
            process.stop()
    if not world.run(partial(_drained, world, _Looks(world)), PEACE_S) and not failures:
        world.blame(f"not drained after {PEACE_S} s of calm")
    drained_after_s = world.clock.now - calm_at
    world.closing = True
    for process in world.processes:
        process.stop()
    if not failures and not world.run(lambda: not world.processes, LEAVING_S):
        world.blame(f"still there after {LEAVING_S} s: {[process.name for process in world.processes]}")
    for process in list(world.processes):
        process.kill()
    _hold_invariants(world)
    client: RawClient = world.server.client
    records = {
        task_id: {name.decode(): value.decode() for name, value in client.hgetall(world.keys.task(task_id)).items()}
        for task_id in world.oracle.ids
    }
    world.oracle.sum_up(records, world.ledger.executions, [r for book in notebooks for r in book.receipts])
    return drained_after_s


class _Looks:
    """Looks now and then whether anything is still alive: a look costs a round trip."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._next = 0.0

    def nothing_lives(self) -> bool:
        world, keys = self._world, self._world.keys
        if world.clock.now < self._next:
            return False
        self._next = world.clock.now + LOOKS_EVERY_S
        waiting = (keys.index(status) for status in ("pending", "queued", "retrying"))
        return not world.server.send("EXISTS", *waiting, keys.leases, keys.claimed)


def _drained(world: World, looks: _Looks) -> bool:
    busy = any(isinstance(process, Producer | Operator) for process in world.processes)
    due = any(role.vacant_until is not None for role in world.roles)
    return not busy and not due and not world.late_calls and looks.nothing_lives()


def _hold_invariants(world: World) -> None:
    try:
        invariants.check(world.server.client, world.keys, groups_lost=world.groups_lost)
    except AssertionError as broken:
        world.blame(f"invariants: {broken}")


def _populate(world: World, rages_s: float) -> list[Any]:
    """Give the world its roles: a worker of all queues with a scheduler at least, producers, perhaps an operator."""
    rng = world.rng

    def worker(role: str, queues: tuple[str, ...], concurrency: int, scheduler: bool, name: str) -> Process:
        process = WorkerProcess(world, role, name)
        process.start(queues=queues, concurrency=concurrency, scheduler=scheduler)
        return process

    def scheduler(role: str, name: str) -> Process:
        process = SchedulerProcess(world, role, name)
        process.start()
        return process

    for n in range(rng.choice([1, 2, 2, 3])):
        queues = () if n == 0 else rng.choice([(), ("a",), ("b", "a")])
        arguments = (f"w{n}", queues, rng.randint(1, 4), n == 0 or rng.random() < 0.5)
        world.roles.append(Role(f"w{n}", partial(worker, *arguments)))
    if rng.random() < 0.3:
        world.roles.append(Role("s", partial(scheduler, "s")))
    notebooks = []
    for n in range(rng.randint(1, 2)):
        notebook = orders(rng, f"p{n}", rng.randint(2, 14), 0.8 * rages_s)
        notebooks.append(notebook)

        def producer(role: str, notebook: Any, name: str) -> Process:
            process = Producer(world, role, name)
            process.start(notebook)
            return process

        world.roles.append(Role(f"p{n}", partial(producer, f"p{n}", notebook)))
    if rng.random() < 0.5:
        pause_s = rng.choice([0.2, 1.0, 3.0])

        def operator(name: str) -> Process:
            process = Operator(world, "o", name)
            process.start(world.oracle.ids, random.Random(rng.random()), pause_s)
            return process

        world.roles.append(Role("o", operator))
    return notebooks
