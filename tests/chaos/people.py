"""Those outside: producers that submit, with and without idempotency keys, and an operator who meddles."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

from tasks_app.domain.errors import DtqError, IdempotencyInProgress, StoreUnavailable
from tasks_app.domain.snapshot import Actor
from tasks_app.domain.submission import Submission
from tasks_app.store.commands import Commands
from tests.chaos.process import Process
from tests.chaos.running import Strand
from tests.chaos.wire import BlockingClient

OPERATOR = Actor("operator", "sim", "r")
QUEUES = ("a", "b")


def _some_task(rng: random.Random, key: str | None) -> Submission:
    payload = {
        "seconds": rng.choice([0, 0, 0.05, 0.5, 2, 6, 9]),
        "failures": rng.choice([0, 0, 0, 1, 2, 9]),
        "hopeless": rng.random() < 0.05,
        "deaf": rng.random() < 0.05,
        "tells": rng.random() < 0.1,
    }
    ttl_s = rng.choice([None] * 8 + [2, 8])
    return Submission(
        task_type="work",
        payload_json=json.dumps(payload),
        queue=rng.choice(QUEUES),
        priority=rng.choice([1, 5, 5, 9]),
        max_attempts=rng.choice([1, 2, 3, 5]),
        timeout_ms=rng.choice([1000, 5000, 20_000]),
        metadata_json="{}" if ttl_s is None else json.dumps({"ttl_seconds": ttl_s}),
        delay_ms=rng.choice([0, 0, 0, 0, 300, 1500, 4000]),
        ttl_ms=None if ttl_s is None else ttl_s * 1000,
        idempotency_key=key,
    )


@dataclass
class Notebook:
    """What a producer has on its own disk: what it still has to submit, and what it was told of the rest."""

    orders: list[Submission]
    gaps: list[float]
    receipts: list[str] = field(default_factory=list)
    tries: int = 0


def orders(rng: random.Random, producer: str, count: int, within_s: float) -> Notebook:
    """Work for one producer."""
    moments = sorted(rng.uniform(0, within_s) for _ in range(count))
    gaps = [later - earlier for earlier, later in zip([0.0, *moments], moments, strict=False)]
    return Notebook([_some_task(rng, f"{producer}-{n}" if rng.random() < 0.4 else None) for n in range(count)], gaps)


class Person(Process):
    """A process with a strand only."""

    @property
    def ended(self) -> bool:
        return all(strand.dead for strand in self.strands)

    def nap(self, seconds: float) -> None:
        Strand.current().wait_until(self.world.clock.now + seconds)


class Producer(Person):
    """Submits its orders; one with a key until it knows that it was taken, also after a crash of its own."""

    def start(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self.spawn(self._submit_all)

    @property
    def finished_for_good(self) -> bool:
        return not self._notebook.orders

    def _submit_all(self) -> None:
        notebook = self._notebook
        commands = Commands(BlockingClient(self), self.world.config)
        while notebook.orders:
            self.nap(notebook.gaps[0] if not notebook.tries else 0.3)
            order = notebook.orders[0]
            notebook.tries += 1
            if order.idempotency_key is None:
                self._order_is_done()  # whatever comes of it: without a key nobody can know whether to send it again
            try:
                notebook.receipts.append(commands.submit(order).task.id)
            except IdempotencyInProgress as known:
                notebook.receipts.append(known.details["task_id"])
            except StoreUnavailable:
                continue
            if order.idempotency_key is not None:
                self._order_is_done()

    def _order_is_done(self) -> None:
        notebook = self._notebook
        notebook.tries = 0
        del notebook.orders[0], notebook.gaps[0]


class Operator(Person):
    """Does something to some task or queue now and then. ``ids`` knows the tasks."""

    def start(self, ids: list[str], rng: random.Random, pause_s: float) -> None:
        self._ids, self._rng, self._pause_s = ids, rng, pause_s
        self.leaving = self.world.faults.calm
        self._tidied = False
        self.spawn(self._meddle)

    def stop(self) -> None:
        self.leaving = True

    @property
    def finished_for_good(self) -> bool:
        return self._tidied  # killed before that, another one comes and resumes what this one has paused

    def _meddle(self) -> None:
        commands = Commands(BlockingClient(self), self.world.config)
        while not self.leaving:
            self.nap(self._rng.expovariate(1 / self._pause_s))
            try:
                self._do_something(commands)
            except DtqError:
                continue  # refused, or out of reach: an operator tries something else
        while self.world.late_calls:  # a pause of an hour ago may be among them
            self.nap(1.0)
        for queue in QUEUES:
            self._resume(commands, queue)
        self._tidied = True

    def _do_something(self, commands: Commands) -> None:
        rng = self._rng
        queue = rng.choice(QUEUES)
        whole_queue: list[Any] = [
            lambda: commands.pause(queue, OPERATOR),
            lambda: commands.pause(queue, OPERATOR, until=self.world.clock.server_ms + rng.randint(0, 9000)),
            lambda: commands.resume(queue, OPERATOR),
            lambda: commands.resume(queue, OPERATOR),
            lambda: commands.purge_queue(queue, OPERATOR),
            lambda: commands.purge_dlq(OPERATOR),
        ]
        if not self._ids or rng.random() < 0.3:
            rng.choice(whole_queue)()
            return
        requeue = commands.dlq_requeue
        act = rng.choice([commands.cancel, requeue, requeue, commands.run_now, commands.discard])
        act(rng.choice(self._ids[-10:]), OPERATOR)

    def _resume(self, commands: Commands, queue: str) -> None:
        while True:
            try:
                commands.resume(queue, OPERATOR)
            except StoreUnavailable:
                self.nap(0.5)
            except DtqError:
                return  # nothing was ever submitted to it
            else:
                return
