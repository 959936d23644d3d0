"""Taking tasks, being quiet and leaving: what a worker does of what it is told."""

from __future__ import annotations

import pytest

from tasks_app.domain.wish import Wish
from tests.engine.test_lease_keeping import Bench
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


def test_each_beat_brings_the_wish_that_stands() -> None:
    bench = Bench()
    for second, wish in enumerate((None, Wish.QUIET, Wish.QUIET)):
        bench.presence.wish = wish
        bench.keeper.run_once(100 + 5 * second)
    assert bench.wishes == [None, Wish.QUIET, Wish.QUIET]


def test_a_beat_that_is_wanted_while_another_is_on_its_way_follows_it() -> None:
    bench = Bench()
    bench.presence.on_beat = bench.keeper.beat_soon
    bench.keeper.run_once(100)
    bench.presence.on_beat = lambda: None
    bench.keeper.run_once(100.1)
    bench.keeper.run_once(100.2)
    assert len(bench.presence.beats) == 2
