"""A fault under load: tasks come in before, during and after it, and in the end all of them are reckoned up."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import redis

from tasks_app.domain.errors import IdempotencyInProgress, NotFound, StoreUnavailable
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.submission import Submission
from tasks_app.store.commands import Commands
from tasks_app.store.connections import connect
from tasks_app.store.keys import Keys
from tests.process.fleet import Fleet
from tests.support import invariants
from tests.support.builders import make_submission
from tests.support.until import until

_KINDS = (("effect", '{"seconds": 0}'), ("effect", '{"seconds": 0.3}'), ("effect_sync", '{"seconds": 0.1}'))
_EVERY_S = 0.03
_numbers = itertools.count()


class Trial:
    """One producer of tasks over the fleet's own address, and what became of them.

    Each submission has an idempotency key and is repeated until it is accepted, as docs/operations.md asks of
    producers: an answer that was lost on the way then costs nothing.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._client = connect(fleet.url, key_prefix=fleet.config.key_prefix, timeout_s=1.0)
        self._commands = Commands(self._client, fleet.config)
        self._began = time.monotonic()
        self._over = threading.Event()
        self._going = threading.Event()
        self._producer = threading.Thread(target=self._produce, name="producer", daemon=True)
        self.accepted: list[str] = []
        self.refused = self.unanswered = 0
        self._failure: BaseException | None = None

    def start(self) -> None:
        """Begin, and return when tasks have come in and have run."""
        self._going.set()
        self._producer.start()
        until(lambda: len(self.accepted) >= 20 and self.ended() >= 10, timeout=10, what="tasks that flow")

    def pause(self) -> None:
        """Let the producer rest; what it has sent has been answered a moment later."""
        self._going.clear()

    def resume(self) -> None:
        self._going.set()

    def ended(self) -> int:
        """How many runs have come to their end, by the ledger."""
        return sum(what == "end" for what, *_ in self.ledger())

    def ledger(self) -> Iterator[tuple[str, str, int, float]]:
        """What really ran since this trial began: (start or end, id, attempt, moment)."""
        if self._fleet.ledger.exists():
            for line in self._fleet.ledger.read_text().splitlines():
                what, task_id, attempt, moment = line.split()
                if float(moment) >= self._began:
                    yield what, task_id, int(attempt), float(moment)

    def flows_again(self, *, since: float, within: float) -> float:
        """Wait until a task that came in after ``since`` has run; seconds from then to its end."""
        known = len(self.accepted)

        def moment() -> float:
            fresh = set(self.accepted[known:])
            return min((at for what, task_id, _, at in self.ledger() if what == "end" and task_id in fresh), default=0)

        took = until(moment, timeout=within + 5, what="a fresh task's end") - since
        assert took <= within, f"work flowed again after {took:.1f} s"
        until(lambda: len(self.accepted) >= known + 10, what="more tasks after the fault")
        print(f"work flowed again {took:.2f} s after the fault had ended; {self.refused} submits were refused")
        return took

    def reckon(self, *, within: float = 20.0, lost: int = 0) -> int:
        """End the producer and account for every task that was accepted. Returns how many ran more than once.

        Each has succeeded and has had its effect, none was started more often than it has attempts and give-backs,
        and the store agrees with itself. ``lost`` allows for so many that the surviving server never heard of.
        """
        self.close()
        assert self._failure is None, self._failure
        assert len(self.accepted) == len(set(self.accepted))
        left = set(self.accepted)

        def settled() -> bool:
            left.difference_update([task_id for task_id in left if self._has_ended(task_id)])
            return len(left) <= lost and not self._living()

        until(settled, timeout=within, what=f"all {len(self.accepted)} tasks at their end")
        starts: Counter[str] = Counter()
        ends: Counter[str] = Counter()
        for what, task_id, _, _ in self.ledger():
            (starts if what == "start" else ends)[task_id] += 1
        for task_id in set(self.accepted) - left:
            task = self._fleet.task(task_id)
            assert task.status is TaskStatus.SUCCEEDED, task
            assert ends[task_id] >= 1, f"{task_id} has had no effect"
            assert starts[task_id] <= task.attempt + task.give_backs, f"{task_id} ran {starts[task_id]} times: {task}"
        invariants.check(self._fleet.client, Keys(self._fleet.config.key_prefix))
        again = sum(starts[task_id] > 1 for task_id in self.accepted)
        print(f"{len(self.accepted)} tasks accepted, {len(left)} lost, {again} ran again")
        return again

    def _has_ended(self, task_id: str) -> bool:
        try:
            return self._fleet.status(task_id).is_terminal
        except (NotFound, StoreUnavailable):
            return False

    def _living(self) -> int:
        return sum(count for status, count in self._fleet.queries.counts().items() if not status.is_terminal)

    def close(self) -> None:
        """End the producer."""
        self._over.set()
        self._going.set()
        if self._producer.is_alive():
            self._producer.join(30)
            assert not self._producer.is_alive(), "a submit was never answered"
        self._client.close()

    def _produce(self) -> None:
        try:
            while not self._over.wait(_EVERY_S):
                if self._going.wait():
                    self._submit()
        except BaseException as error:  # handed to the test's own thread
            self._failure = error
            raise

    def submit(self) -> None:
        """Submit one more, once and whatever the answer; raises as ``Commands.submit``."""
        self._commands.submit(make_submission(task_type="effect"))

    def _submit(self) -> None:
        number = next(_numbers)
        task_type, payload = _KINDS[number % len(_KINDS)]
        submission = make_submission(
            task_type=task_type, payload_json=payload, idempotency_key=f"trial-{number}", max_attempts=20
        )
        while not self._over.is_set():
            try:
                self.accepted.append(self._send(submission))
            except StoreUnavailable as refusal:
                self.refused += 1
                self.unanswered += isinstance(refusal.__cause__, redis.TimeoutError)
                self._over.wait(_EVERY_S)
            else:
                return

    def _send(self, submission: Submission) -> str:
        try:
            return self._commands.submit(submission).task.id
        except IdempotencyInProgress as known:  # the lost answer was a yes
            return str(known.details["task_id"])


@contextmanager
def trial_of(fleet: Fleet) -> Iterator[Trial]:
    """A trial under way, whose producer ends whatever happens."""
    trial = Trial(fleet)
    try:
        trial.start()
        yield trial
    finally:
        trial.close()
