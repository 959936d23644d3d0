"""The simulator can fail: each planted bug is found, most of them in the first few schedules."""

from __future__ import annotations

import pytest

from tests.chaos.bugs import BUGS
from tests.chaos.simulator import Simulator

pytestmark = pytest.mark.real_redis
ENOUGH = 200


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str, redis_url: str) -> None:
    with BUGS[bug](), Simulator(redis_url) as simulator:
        found = next((seed for seed in range(ENOUGH) if simulator.run(seed).failures), None)
    assert found is not None
