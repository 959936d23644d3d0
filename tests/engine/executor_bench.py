"""An executor with a committer on a store in memory, and handlers of every kind."""

from __future__ import annotations

import asyncio
import random
import threading

from tasks_app.handlers import Registry, RetryableError
from tasks_app.store.leases import Claimed, Finish
from tests.engine.fakes import FakeLeases
from tests.support.builders import make_config
from tests.support.until import until_async
from workers.engine.committer import Committer
from workers.engine.execution import Execution, Slots
from workers.engine.executor import Executor, Surroundings
from workers.engine.notes import NoteBook
from workers.engine.verdicts import Judge


class ExecutorBench:
    """An executor with a committer on a store in memory."""

    def __init__(self, surroundings: Surroundings | None = None) -> None:
        loop = asyncio.get_running_loop()
        config = make_config()
        self.registry = Registry()
        self.leases = FakeLeases()
        self.slots = Slots(5)
        self.leased: dict[str, Execution] = {}
        notes = NoteBook(self.leases.real(), "w", loop)
        self.committer = Committer(self.leases.real(), "w", self.slots, notes, self.leased)
        self.executor = Executor(
            config,
            self.registry,
            Judge(config, random.Random(1)),
            self.slots,
            self.committer,
            notes,
            self.leased,
            loop,
            surroundings or Surroundings(),
        )
        self.gate = threading.Event()
        self.started = asyncio.Event()
        self.enough = asyncio.Event()
        self.told_to_stop = 0
        self._declare()

    def _declare(self) -> None:
        @self.registry.task("echo")
        async def echo(payload, ctx):
            return payload

        @self.registry.task("wait")
        async def wait(payload, ctx):
            self.started.set()
            await asyncio.Event().wait()

        @self.registry.task("deaf")
        async def deaf(payload, ctx):
            self.started.set()
            while not self.enough.is_set():
                try:
                    await self.enough.wait()
                except asyncio.CancelledError:
                    self.told_to_stop += 1
            return "late"

        @self.registry.task("thread")
        def thread(payload, ctx):
            self.gate.wait(10)
            ctx.raise_if_cancelled()
            return "from a thread"

        @self.registry.task("stubborn")
        def stubborn(payload, ctx):
            self.gate.wait(10)
            return "done anyway"

        @self.registry.task("again")
        async def again(payload, ctx):
            raise RetryableError("not yet")

        @self.registry.task("throw")
        async def throw(payload, ctx):
            raise {"exit": SystemExit, "cancel": asyncio.CancelledError, "interrupt": KeyboardInterrupt}[
                payload["what"]
            ]

    def start(self, *tasks: Claimed) -> None:
        self.executor.start(tasks)

    async def outcome(self, number: int = 1) -> list[Finish]:
        """What has been committed once ``number`` attempts have ended."""
        async with asyncio.timeout(5):
            while len(self.leases.finished) < number:
                await self.committer.run_once()
        return self.leases.finished

    async def idle(self) -> None:
        await until_async(lambda: self.slots.occupied == 0, timeout=5)
