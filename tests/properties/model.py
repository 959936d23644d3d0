"""The queue as a few dictionaries: what the store should do, without Redis, scripts or streams."""

from __future__ import annotations

from dataclasses import dataclass, field

from tasks_app.domain.status import TaskStatus
from tasks_app.domain.transitions import REQUEUEABLE

S = TaskStatus
SCHEDULED = (S.PENDING, S.RETRYING)
WAITING = (S.PENDING, S.QUEUED, S.RETRYING)


@dataclass
class Run:
    """A task in the model. ``place`` orders a lane; ``expired`` says that its time to live has run out."""

    id: str
    queue: str
    priority: int
    max_attempts: int
    key: str | None
    mortal: bool
    status: TaskStatus
    attempt: int = 1
    place: int = 0
    worker: str = ""
    expired: bool = False
    cancelling: bool = False
    given_back: bool = False
    claimed: bool = False


@dataclass
class Model:
    """All tasks, who holds each idempotency key, and which queues are paused."""

    tasks: dict[str, Run] = field(default_factory=dict)
    holders: dict[tuple[str, str], str] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    places: int = 0

    def next_place(self) -> int:
        self.places += 1
        return self.places

    def holder(self, queue: str, key: str | None) -> Run | None:
        """The task that a key stands for, if its record still exists."""
        return self.tasks.get(self.holders.get((queue, key or ""), ""))

    def born(self, run: Run) -> None:
        run.place = self.next_place()
        self.tasks[run.id] = run
        if run.key:
            self.holders[run.queue, run.key] = run.id

    def claim(self, worker: str, queues: tuple[str, ...], limit: int) -> list[str]:
        """Start what a claim should start, in its order."""
        started: list[str] = []
        waiting = [run for run in self.tasks.values() if run.status is S.QUEUED and run.queue not in self.paused]
        for queue in queues:
            for run in sorted((r for r in waiting if r.queue == queue), key=lambda r: (-r.priority, r.place)):
                if len(started) == limit:
                    return started
                if run.expired:
                    run.status = S.EXPIRED
                else:
                    run.status, run.worker, run.given_back = S.RUNNING, worker, False
                    started.append(run.id)
        return started

    def reclaim(self, worker: str, queues: tuple[str, ...], limit: int, lapsed: list[str]) -> list[str]:
        """Settle ``lapsed`` in that order; returns what was re-adopted."""
        adopted: list[str] = []
        for run in (self.tasks[task_id] for task_id in lapsed):
            if run.cancelling:
                run.status = S.CANCELLED
            elif run.attempt >= run.max_attempts and not run.given_back:
                run.status = S.DEAD_LETTERED
            elif run.queue in queues and run.queue not in self.paused and len(adopted) < limit:
                run.attempt += not run.given_back
                run.worker, run.given_back = worker, False
                adopted.append(run.id)
        return adopted

    def finish(self, run: Run, status: TaskStatus) -> TaskStatus:
        run.status = S.CANCELLED if run.cancelling else status
        return run.status

    def cancel(self, run: Run) -> str:
        """The word a cancel is answered with."""
        if run.status.is_terminal:
            return "TASK_FINISHED"
        if run.status is S.RUNNING:
            run.cancelling = True
            return "CANCEL_REQUESTED"
        run.status, run.claimed = S.CANCELLED, False
        return "OK"

    def send(self, run: Run) -> None:
        """Move a scheduled task into its stream."""
        run.claimed = False
        if run.expired:
            run.status = S.EXPIRED
        else:
            run.attempt += run.status is S.RETRYING
            run.status, run.place = S.QUEUED, self.next_place()

    def requeue(self, run: Run) -> str:
        if run.status not in REQUEUEABLE:
            return "WRONG_STATUS"
        other = self.holder(run.queue, run.key) if run.key else None
        if other and other is not run and not other.status.is_terminal:
            return "IDEMPOTENCY_CONFLICT"
        if run.key:
            self.holders[run.queue, run.key] = run.id
        run.status, run.attempt, run.place = S.QUEUED, 1, self.next_place()
        run.expired = run.cancelling = run.given_back = False
        return "OK"

    def discard(self, run: Run) -> str:
        if run.status not in REQUEUEABLE:
            return "WRONG_STATUS"
        self.forget(run)
        return "OK"

    def forget(self, run: Run) -> None:
        del self.tasks[run.id]

    def purge_dead(self) -> int:
        dead = [run for run in self.tasks.values() if run.status is S.DEAD_LETTERED]
        for run in dead:
            self.forget(run)
        return len(dead)

    def purge(self, queue: str) -> int:
        doomed = [run for run in self.tasks.values() if run.queue == queue and run.status in WAITING]
        for run in doomed:
            self.cancel(run)
        return len(doomed)
