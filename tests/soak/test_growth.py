"""The soak's account of growth: what the server holds is told apart by what bounds it, and what grows is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis

from tasks_app.domain.submission import Submission
from tasks_app.store.commands import Commands
from tests.process.fleet import ACTOR
from tests.soak.samples import KEPT, OF_ROW, OF_TASKS, RECORDS, SETTLED_S, USED, Samples
from tests.soak.weights import weigh


@pytest.mark.real_redis
def test_what_a_server_holds_by_what_bounds_it(
    redis_client: redis.Redis, commands: Commands, submission: Callable[..., Submission]
) -> None:
    empty = weigh(redis_client)
    assert (empty.records, empty.of_tasks, empty.minute, empty.kept) == (0, 0, 0, 0)
    ids = [commands.submit(submission(payload_json='{"text": "%s"}' % ("x" * 10_000))).task.id for _ in range(20)]
    commands.cancel(ids[0], ACTOR)
    found = weigh(redis_client)
    assert found.records == 20
    assert 200_000 < found.of_tasks < 400_000
    assert found.minute > 100
    assert found.audit_entry > 50
    assert found.kept > 50
    assert found.beyond < empty.beyond + 1_000_000


@pytest.mark.parametrize(
    ("name", "first", "last", "flat"),
    [
        (OF_TASKS, 2.0, 2.4, True),
        (OF_TASKS, 2.0, 2.6, False),
        (OF_TASKS, 20.0, 21.9, True),
        (RECORDS, 100.0, 9000.0, True),
        (KEPT, 0.5, 1.6, False),
        (USED, 14.0, 30.0, True),
        (f"{OF_ROW} `dtq:task:<id>`, MB", 8.0, 30.0, True),
        ("RSS of worker 1, MB", 70.0, 77.9, True),
        ("RSS of worker 1, MB", 70.0, 78.1, False),
    ],
)
def test_flat_is_a_tenth_or_what_is_tolerated_of_the_measure(name: str, first: float, last: float, flat: bool) -> None:
    samples = Samples({name: [(float(at), first if at < 50 else last) for at in range(100)]})
    (growth,) = samples.growth(100.0)
    assert growth.flat is flat


def test_all_of_the_server_is_held_in_runs_that_have_settled() -> None:
    samples = Samples({USED: [(float(at), 14.0 if at < 500 else 23.0) for at in range(1000)]})
    (growth,) = samples.growth(SETTLED_S)
    assert not growth.flat
