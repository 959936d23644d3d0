"""Sequences kept by hand: what the machine once found, or what is too rare for it to find often.

A failure is printed as such a sequence of steps; it is kept here by naming the place of each task that was drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tasks_app.domain.status import TaskStatus as S
from tests.properties.machine import Where
from tests.properties.model import Run
from tests.properties.refusals import Refusals
from tests.support.backend import Backend


class Example(Refusals):
    """The machine without its dice: ``data`` is the place of a task among those that fit."""

    def pick(self, data: Any, where: Where = lambda run: True) -> Run | None:
        found = [run for run in self.model.tasks.values() if where(run)]
        return found[int(data)]

    def holds(self) -> None:
        self.records_are_what_the_model_says()
        self.everything_agrees()

    def retrying(self, *, mortal: bool = False) -> None:
        """One task that waits for its second attempt; it is the first to be drawn."""
        self.submit("a", 5, 0, 2, None, mortal)
        self.claim("w1", ("a",), 1)
        self.finish(0, S.RETRYING, 0)


@pytest.fixture
def example(backend: Backend) -> Iterator[Example]:
    machine = type("Example", (Example,), {"backend": backend})()
    yield machine
    machine.holds()
    machine.teardown()


def test_a_retrying_task_cancelled_between_the_schedulers_claim_and_its_release(example: Example) -> None:
    example.retrying()
    example.come_due(0, release=False)
    example.cancel(0)
    example.holds()
    example.return_old_claims()
    example.upkeep()


def test_a_claimed_task_run_now_is_not_sent_again_when_old_claims_come_back(example: Example) -> None:
    example.retrying()
    example.come_due(0, release=False)
    example.run_now(0)
    example.return_old_claims()
    example.claim("w2", ("a",), 4)
    assert len(example.model.tasks) == 1


def test_a_task_that_outlives_its_time_while_retrying_passes_through_the_queue_without_an_entry(
    example: Example,
) -> None:
    example.retrying(mortal=True)
    example.outlive(0)
    example.come_due(0, release=True)
    assert [run.status for run in example.model.tasks.values()] == [S.EXPIRED]


def test_a_task_given_back_on_its_last_attempt_is_not_buried(example: Example) -> None:
    example.submit("a", 5, 0, 1, None, False)
    example.claim("w1", ("a",), 1)
    example.give_back(0)
    example.reclaim("w2", ("a",), 1)
    example.crash(0)
    example.reclaim("w3", ("a",), 1)
    assert [run.status for run in example.model.tasks.values()] == [S.DEAD_LETTERED]


def test_a_key_passes_from_a_discarded_task_to_the_next_and_back_to_nobody(example: Example) -> None:
    example.submit("a", 5, 0, 1, "k", False)
    example.claim("w1", ("a",), 1)
    example.finish(0, S.DEAD_LETTERED, 0)
    example.submit("a", 5, 0, 1, "k", False)
    example.discard(0)
    example.submit("a", 5, 0, 1, "k", False)
    example.submit_something_else_under_the_key("a", "k")
    example.cancel(0)
