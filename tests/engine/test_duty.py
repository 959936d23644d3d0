"""Taking tasks, being quiet and leaving: what a worker does of what it is told."""

from __future__ import annotations

import pytest

from tasks_app.domain.wish import Wish
from workers.engine.duty import Duty


def state(duty: Duty) -> tuple[bool, bool, bool]:
    """Whether it takes no tasks, is quiet, leaves."""
    assert duty.off.is_set() is (duty.quiet or duty.leaving.is_set())
    return duty.off.is_set(), duty.quiet, duty.leaving.is_set()


def test_quiet_and_back() -> None:
    duty = Duty()
    assert state(duty) == (False, False, False)
    assert [duty.follow(wish) for wish in (None, Wish.QUIET, Wish.QUIET)] == [False, True, False]
    assert state(duty) == (True, True, False)
    missed = duty.off
    assert [duty.follow(wish) for wish in (None, None)] == [True, False]
    assert missed.is_set()
    assert state(duty) == (False, False, False)


@pytest.mark.parametrize("before", [None, Wish.QUIET])
def test_a_stop_is_final_and_does_not_hurry_however_often_it_is_heard(before: Wish | None) -> None:
    duty = Duty()
    duty.follow(before)
    assert [duty.follow(wish) for wish in (Wish.STOP, Wish.STOP, None, Wish.QUIET)] == [True, False, False, False]
    assert state(duty) == (True, False, True)
    assert not duty.hurried.is_set()


def test_only_the_second_signal_hurries_whatever_was_told_before() -> None:
    duty = Duty()
    duty.follow(Wish.STOP)
    duty.signal()
    assert not duty.hurried.is_set()
    duty.signal()
    assert duty.hurried.is_set()


def test_a_signal_ends_quiet() -> None:
    duty = Duty()
    duty.follow(Wish.QUIET)
    duty.signal()
    assert state(duty) == (True, False, True)
