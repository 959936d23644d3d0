"""Judges what the server was seen to do: who was granted which attempt, why it lost it, and how each task ended.

It sees every script call that the server carried out, also those whose reply was lost, and nothing of what is inside.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks_app.domain.status import TERMINAL, TaskStatus
from tasks_app.store.leases import LEASE_LOST
from tasks_app.store.scripts import GRACE_MS
from tests.chaos.process import Disturbance
from tests.chaos.tasks import Execution

SUBMIT_WIDTH = 12
Records = dict[str, dict[str, str]]


@dataclass
class Grant:
    """An attempt that a worker holds. ``alive_at``: when the server last heard of its worker. Times are server ms."""

    task_id: str
    attempt: int
    worker: str
    queue: str
    since: int
    expires: int
    latest: int
    alive_at: int
    given_back: bool = False


@dataclass
class Totals:
    """What a schedule amounted to."""

    tasks: int = 0
    executions: int = 0
    finishes: int = 0
    lost: int = 0
    double_finishes: int = 0
    longest_recovery_ms: int = 0
    duplicates: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)


class Oracle:
    """One schedule's judge. ``blame`` takes what must not be; ``disturbances`` tells what befell a worker."""

    def __init__(
        self, lease_ms: int, blame: Callable[[str], None], disturbances: Callable[[str], Sequence[Disturbance]]
    ) -> None:
        self._lease_ms = lease_ms
        self._blame = blame
        self._disturbances = disturbances
        self.ids: list[str] = []
        self.totals = Totals()
        self._grants: dict[str, Grant] = {}
        self._may_begin: Counter[tuple[str, int, str]] = Counter()
        self._why: dict[tuple[str, int, str], str] = {}
        self._begun: set[str] = set()
        self._finished: dict[str, tuple[int, str]] = {}
        self._lives: Counter[str] = Counter()
        self._discarded: set[str] = set()
        self._keys: dict[str, list[str]] = defaultdict(list)
        self._awake_since: Counter[str] = Counter()

    # --- what the server did

    def saw(self, script: str, args: Sequence[Any], reply: Any, now: int) -> None:
        """The server carried out a script. ``args`` are its ARGV, ``reply`` is not an error."""
        judge = getattr(self, f"_{script}", None)
        if judge is not None:
            judge(args, reply, now)

    def _submit(self, args: Sequence[Any], reply: Any, now: int) -> None:
        for i, (word, raw_id) in enumerate(zip(reply[1::2], reply[2::2], strict=True)):
            if word == b"ACCEPTED":
                task_id = raw_id.decode()
                self.ids.append(task_id)
                if key := args[i * SUBMIT_WIDTH + 10]:
                    self._keys[key].append(task_id)
                    if len(self._keys[key]) > 1 + sum(known in self._discarded for known in self._keys[key]):
                        self._blame(f"two tasks for the idempotency key {key}: {self._keys[key]}")

    def _claim(self, args: Sequence[Any], reply: Any, now: int) -> None:
        for task in reply[0]:
            held = self._held(task[0].decode(), int(task[1]), args[0])
            if held is not None:  # the answer that named it was lost
                held.expires, held.alive_at = now + self._lease_ms, now
                continue
            if task[0].decode() in self._grants:
                self._blame(f"{task[0].decode()} was claimed while {self._grants[task[0].decode()]} holds it")
            self._grant(args[0], task, now, "claim")

    def _reclaim(self, args: Sequence[Any], reply: Any, now: int) -> None:
        for task in reply[0]:
            before = self._take_away(task[0].decode(), now)
            if before is None:
                continue
            if int(task[1]) != before.attempt + (not before.given_back):
                self._blame(f"attempt {int(task[1])} was re-adopted after {before}")
            self._grant(args[0], task, now, self._cause(before, now))
            quiet_since = max(before.alive_at, self._awake_since[before.queue])
            self.totals.longest_recovery_ms = max(self.totals.longest_recovery_ms, now - quiet_since)
        for raw_id, _, status in reply[1]:
            before = self._take_away(raw_id.decode(), now)
            if before is not None:
                self._cause(before, now)
            if TaskStatus(status.decode()) not in TERMINAL:
                self._blame(f"{raw_id.decode()} was settled as {status.decode()}")

    def _grant(self, worker: str, task: Any, now: int, why: str) -> None:
        task_id, attempt, limit, timeout_ms = task[0].decode(), int(task[1]), int(task[2]), int(task[6])
        if attempt > limit:
            self._blame(f"{task_id} was granted attempt {attempt} of {limit}")
        latest = now + timeout_ms + GRACE_MS
        grant = Grant(task_id, attempt, worker, task[4].decode(), now, now + self._lease_ms, latest, now)
        self._grants[task_id] = grant
        self._may_begin[task_id, attempt, worker] += 1
        self._why[task_id, attempt, worker] = why

    def _take_away(self, task_id: str, now: int) -> Grant | None:
        grant = self._grants.pop(task_id, None)
        if grant is None:
            self._blame(f"{task_id} was reclaimed and nobody held it")
        elif now < grant.expires:
            self._blame(f"{grant} was taken away {grant.expires - now} ms before its lease ended")
        return grant

    def _cause(self, grant: Grant, now: int) -> str:
        """Why its worker lost it: one whom nothing has befallen since its last renewal loses no lease."""
        if grant.given_back:
            return "given back"
        blows = [blow.kind for blow in self._disturbances(grant.worker) if blow.at_ms >= grant.alive_at]
        if blows:
            return blows[-1]
        if now >= grant.latest:
            return "overran"
        self._blame(f"{grant} was lost at {now} and nothing had befallen its worker")
        return "unexplained"

    def _renew(self, args: Sequence[Any], reply: Any, now: int) -> None:
        lost = {raw.decode() for raw in reply[0]}
        for task_id, attempt in zip(args[1::2], args[2::2], strict=True):
            grant = self._held(task_id, int(attempt), args[0])
            if (grant is None) != (task_id in lost):
                self._blame(f"renewing {task_id} attempt {attempt} for {args[0]}: lost {task_id in lost}, {grant}")
            if grant is not None:
                grant.alive_at = now
                if not grant.given_back:
                    grant.expires = min(now + self._lease_ms, max(grant.latest, now))

    def _giveback(self, args: Sequence[Any], reply: Any, now: int) -> None:
        for task_id, attempt in zip(args[1::2], args[2::2], strict=True):
            grant = self._held(task_id, int(attempt), args[0])
            if grant is not None:
                grant.given_back = True
                grant.expires = grant.alive_at = now

    def _finish(self, args: Sequence[Any], reply: Any, now: int) -> None:
        width = (len(args) - 1) // len(reply)
        for i, word in enumerate(reply):
            task_id, attempt = args[1 + i * width], int(args[2 + i * width])
            if word == LEASE_LOST.encode():
                continue
            self.totals.finishes += 1
            if self._held(task_id, attempt, args[0]) is None:
                self.totals.double_finishes += 1
                self._blame(f"{args[0]} finished {task_id} attempt {attempt}; held: {self._grants.get(task_id)}")
            self._grants.pop(task_id, None)
            self._finished[task_id] = attempt, args[0]

    def _held(self, task_id: str, attempt: int, worker: str) -> Grant | None:
        grant = self._grants.get(task_id)
        return grant if grant and (grant.attempt, grant.worker) == (attempt, worker) else None

    def _requeue(self, args: Sequence[Any], reply: Any, now: int) -> None:
        for task_id in self._named(args[3:], [reply] if isinstance(reply[0], bytes) else reply):
            self._lives[task_id] += 1
            self._finished.pop(task_id, None)

    def _discard(self, args: Sequence[Any], reply: Any, now: int) -> None:
        self._discarded.update(self._named(args[4:], reply))

    def _named(self, args: Sequence[Any], replies: Iterable[Any]) -> list[str]:
        """The tasks, among those named, that a script said OK to."""
        known = set(self.ids)
        named = [arg for arg in args if arg in known]
        return [task_id for task_id, (word, _) in zip(named, replies, strict=True) if word == b"OK"]

    def _resume(self, args: Sequence[Any], reply: Any, now: int) -> None:
        self._awake_since[args[3]] = now

    # --- what handlers did

    def began(self, execution: Execution) -> None:
        """A handler began: for a grant, and only once for each."""
        fence = execution.task_id, execution.attempt, execution.worker
        self.totals.executions += 1
        self._may_begin[fence] -= 1
        if self._may_begin[fence] < 0:
            self._blame(f"{execution} began without a grant")
        if execution.task_id in self._begun and self._why.get(fence) != "claim":
            self.totals.duplicates[self._why.get(fence, "?")] += 1
        self._begun.add(execution.task_id)

    # --- how it ended

    def sum_up(self, records: Records, executions: Sequence[Execution], receipts: Sequence[str]) -> Totals:
        """Look at what is there when all is quiet: ``records`` by task id, the ledger, and what producers were told."""
        for receipt in receipts:
            if receipt not in set(self.ids):
                self._blame(f"a producer was told of {receipt}, which was never born")
        for task_id in self.ids:
            if task_id in self._discarded:
                self.totals.endings["discarded"] += 1
                continue
            record = records.get(task_id, {})
            status = record.get("status", "lost")
            self.totals.endings[status] += 1
            if status not in set(TERMINAL):
                self.totals.lost += 1
                self._blame(f"{task_id} was accepted and is {status}: {record}; held: {self._grants.get(task_id)}")
            if status == "succeeded":
                self._succeeded(task_id, record, executions)
        self.totals.tasks = len(self.ids)
        return self.totals

    def _succeeded(self, task_id: str, record: dict[str, str], executions: Sequence[Execution]) -> None:
        execution = executions[json.loads(record["result"])["execution"]]
        fence = execution.attempt, execution.worker
        if execution.task_id != task_id or not execution.done or self._finished.get(task_id) != fence:
            self._blame(f"{task_id} succeeded by {execution}, finished by {self._finished.get(task_id)}")
