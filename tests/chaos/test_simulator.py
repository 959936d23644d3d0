"""A minute of schedules with every run of the tests, and what the simulator itself promises."""

from __future__ import annotations

import os

import pytest

from tests.chaos.report import run_for
from tests.chaos.simulator import Simulator

pytestmark = pytest.mark.real_redis
SECONDS = float(os.environ.get("DTQ_TEST_CHAOS_S", "45"))


@pytest.mark.timeout(SECONDS + 120)
def test_nothing_is_lost_and_nothing_finishes_twice(redis_url: str) -> None:
    # The same seeds each time, so that a red run can be had again; ``make chaos`` draws its own.
    report = run_for(redis_url, SECONDS, first=1)
    assert not report.failed, report.page()
    assert report.faults.total() > 0, "nothing was tried"


def test_a_seed_gives_the_same_schedule_again(redis_url: str) -> None:
    with Simulator(redis_url) as simulator:
        once, other, again = (list(simulator.run(seed).trace.lines()) for seed in (7, 8, 7))
    assert once == again
    assert once != other
    assert len(once) > 50


def test_a_schedule_has_faults_of_several_kinds(redis_url: str) -> None:
    with Simulator(redis_url) as simulator:
        kinds = {kind for seed in range(20) for kind in simulator.run(seed).faults}
    assert len(kinds) > 5
