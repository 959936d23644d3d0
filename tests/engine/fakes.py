"""A store in memory, as far as the engine's parts talk to it one by one. Whole workers are tested on the real store."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any, cast

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.domain.wish import Wish
from tasks_app.store.leases import Claimed, ClaimReply, Finish, Leases, Note
from tasks_app.store.presence import Heartbeat, Presence, Renewal
from tasks_app.store.schedule import Due, Schedule

BEAT = Heartbeat("w", "host", 1, "1", 0.0, "ready", 5, 0, ("a", "b"), 0, 0, ("t",))


def claimed(task_id: str = "t1", task_type: str = "noop", **overrides: Any) -> Claimed:
    """A claim with sensible values."""
    fields: dict[str, Any] = {
        "id": task_id,
        "attempt": 1,
        "max_attempts": 3,
        "task_type": task_type,
        "queue": "default",
        "priority": 5,
        "timeout_ms": 30_000,
        "payload_json": "{}",
        "metadata_json": "{}",
    }
    return Claimed(**{**fields, **overrides})


class Turn:
    """``await Turn()`` lets everything else on the loop have one turn."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class Failing:
    """Counts down failures: each call of ``check`` raises one of them while there are any."""

    def __init__(self) -> None:
        self.errors: deque[Exception] = deque()

    def away(self, times: int = 1) -> None:
        self.errors.extend(StoreUnavailable("away") for _ in range(times))

    def check(self) -> None:
        if self.errors:
            raise self.errors.popleft()


class FakeLeases(Failing):
    """Answers claims from ``queue`` and ``expired``; keeps what it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: deque[ClaimReply] = deque()
        self.expired: deque[ClaimReply] = deque()
        self.calls: list[tuple[str, int]] = []
        self.batches: list[list[Finish]] = []
        self.answers: dict[str, str] = {}
        self.notes: list[Note] = []
        self.given_back: list[tuple[str, int]] = []
        self.bell = asyncio.Event()
        self.deaf = False
        self.hold: asyncio.Event | None = None

    async def _turn(self) -> None:
        await Turn()
        if self.hold is not None:
            await self.hold.wait()
        self.check()

    async def claim(self, worker_id: str, queues: tuple[str, ...], limit: int) -> ClaimReply:
        self.calls.append(("claim", limit))
        await self._turn()
        return self.queue.popleft() if self.queue else ClaimReply()

    async def reclaim(self, worker_id: str, queues: tuple[str, ...], limit: int) -> ClaimReply:
        self.calls.append(("reclaim", limit))
        await self._turn()
        return self.expired.popleft() if self.expired else ClaimReply()

    async def claim_at_bell(
        self, worker_id: str, queues: tuple[str, ...], limit: int, timeout_s: float
    ) -> tuple[bool, ClaimReply]:
        self.calls.append(("claim at bell", limit))
        await self.bell.wait()
        self.bell.clear()
        self.check()
        return True, self.queue.popleft() if self.queue else ClaimReply()

    async def leave_bell(self, worker_id: str) -> None:
        self.calls.append(("leave bell", 0))
        await self._turn()
        if not self.deaf:
            self.bell.set()

    async def finish(self, worker_id: str, batch: Sequence[Finish]) -> list[str]:
        await self._turn()
        self.batches.append(list(batch))
        return [self.answers.get(finish.task_id, finish.status.value) for finish in batch]

    async def note(self, worker_id: str, notes: Sequence[Note]) -> None:
        await self._turn()
        self.notes.extend(notes)

    async def give_back(self, worker_id: str, running: Sequence[tuple[str, int]]) -> int:
        await self._turn()
        self.given_back.extend(running)
        return len(running)

    @property
    def finished(self) -> list[Finish]:
        return [finish for batch in self.batches for finish in batch]

    def real(self) -> Leases:
        """Itself, for the type checker."""
        return cast(Leases, self)


class FakePresence(Failing):
    def __init__(self) -> None:
        super().__init__()
        self.renewed: list[list[tuple[str, int]]] = []
        self.beats: list[Heartbeat] = []
        self.left: list[str] = []
        self.renewal = Renewal([], [])
        self.wish: Wish | None = None
        self.on_beat: Callable[[], None] = lambda: None

    def renew(self, worker_id: str, running: Sequence[tuple[str, int]]) -> Renewal:
        self.check()
        self.renewed.append(list(running))
        return self.renewal

    def heartbeat(self, beat: Heartbeat) -> Wish | None:
        self.check()
        self.beats.append(beat)
        self.on_beat()
        return self.wish

    def leave(self, worker_id: str) -> None:
        self.check()
        self.left.append(worker_id)

    def real(self) -> Presence:
        return cast(Presence, self)


class FakeSchedule(Failing):
    def __init__(self) -> None:
        super().__init__()
        self.leads = True
        self.dues: deque[Due] = deque()
        self.abandoned: deque[int] = deque()
        self.more = 0
        self.operating = 0
        self.calls: list[str] = []

    async def lead(self, owner: str, token: str) -> bool:
        self.calls.append("lead")
        self.check()
        return self.leads

    async def resign(self, token: str) -> None:
        self.calls.append("resign")
        self.check()

    async def claim_due(self, token: str, limit: int = 500) -> Due:
        self.calls.append("due")
        self.check()
        return self.dues.popleft() if self.dues else Due([], None, leading=True)

    async def requeue_claimed(self, token: str, ids: Sequence[str]) -> int:
        self.calls.append(f"requeue {len(ids)}")
        return len(ids)

    async def return_claims(self, token: str, older_than_ms: int = 60_000) -> int:
        self.calls.append("return" if older_than_ms else "return all")
        return self.abandoned.popleft() if self.abandoned and not older_than_ms else 0

    async def operate(self, seconds: float) -> bool:
        self.calls.append("operate")
        self.operating -= 1
        return self.operating >= 0

    async def sweep(self, token: str) -> bool:
        self.calls.append("sweep")
        self.more -= 1
        return self.more >= 0

    def real(self) -> Schedule:
        return cast(Schedule, self)


class Clock:
    """A clock that the test moves."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
