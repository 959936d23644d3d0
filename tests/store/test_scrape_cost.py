"""What a scrape and a fold cost the server with a thousand queues and more series than there are places."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tasks_app.store.metrics import Observer
from tasks_app.store.scripts import BUCKETS_MS
from tasks_app.store.totals import MAX_SERIES
from tests.support.keyspace import RawClient
from tests.support.stage import TOKEN, Stage

pytestmark = pytest.mark.real_redis
QUEUES = 1000
TYPES = 3
SLOW_US = 10_000
COUNTERS = ["submitted", "running", "succeeded", "retrying", "ws", "rs"]
MEASURES = COUNTERS + [f"{letter}{i}" for letter in "wr" for i in range(0, len(BUCKETS_MS), 4)]


@pytest.fixture
def slow_log(redis_client: RawClient) -> Iterator[RawClient]:
    """Commands over ten milliseconds are noted while the test runs."""
    before = redis_client.config_get("slowlog-log-slower-than")["slowlog-log-slower-than"]
    redis_client.config_set("slowlog-log-slower-than", SLOW_US)
    yield redis_client
    redis_client.config_set("slowlog-log-slower-than", before)


def fill(stage: Stage) -> None:
    """Every queue has a task, and every queue and type something in every measure of two minutes."""
    minute = stage.minute()
    pipe = stage.client.pipeline(transaction=False)
    for number in range(QUEUES):
        fields = {f"q{number:03}|t{kind}|{measure}": 1 for kind in range(TYPES) for measure in MEASURES}
        for ago in (0, 3):
            pipe.hset(stage.keys.stats("m", minute - ago), mapping=fields)
    for ago in (0, 3):
        pipe.expire(stage.keys.stats("m", minute - ago), 600)
    pipe.execute()
    for number in range(QUEUES):
        stage.submit(queue=f"q{number:03}", task_type="t0")


async def test_no_command_takes_long(stage: Stage, slow_log: RawClient) -> None:
    fill(stage)
    observer = Observer(stage.client, stage.config)
    await stage.lead()
    slow: set[bytes] = set()
    for turn in range(5):  # what is slow by itself is slow each time; what had to wait for a processor is not
        slow_log.slowlog_reset()
        stage.client.delete(stage.keys.totals, stage.keys.series, stage.keys.counted)
        await stage.schedule._fold.run_once(TOKEN)
        seen = observer.observe()
        found = {entry["command"][:200] for entry in slow_log.slowlog_get(100)}
        slow = slow & found if turn else found
        if not slow:
            break
    assert slow == set()
    assert len(seen.queues) == len(seen.oldest_waits_ms) == QUEUES
    assert len(seen.totals) == MAX_SERIES + QUEUES - MAX_SERIES // TYPES
    assert sum(measures["submitted"] for measures in seen.totals.values()) == 2 * QUEUES * TYPES + QUEUES
