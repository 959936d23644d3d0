"""How many dead letters of a cause each hour of a day brought."""

from __future__ import annotations

import pytest

from tasks_app.domain.snapshot import DeadLetterGroup
from tasks_app.domain.status import TaskStatus
from tasks_app.store.leases import Finish
from tasks_app.store.queries import Queries
from tests.support.builders import ACTOR
from tests.support.stage import WORKER, Stage


async def bury(stage: Stage, count: int) -> None:
    """So many new ones of one cause, and what waits already, in one call."""
    for _ in range(count):
        stage.submit()
    tasks = (await stage.claim()).tasks
    ends = [Finish(t.id, t.attempt, TaskStatus.DEAD_LETTERED, "failed", error_class="E") for t in tasks]
    assert set(await stage.leases.finish(WORKER, ends)) == {"dead_lettered"}


def the_group(queries: Queries) -> DeadLetterGroup:
    [group] = queries.dead_letter_groups()
    return group


async def test_each_hour_has_its_count(stage: Stage, queries: Queries) -> None:
    hour = stage.minute() // 60
    await bury(stage, 3)
    await bury(stage, 1)
    group = the_group(queries)
    assert group.hourly == (*[0] * 23, 4)
    assert group.current_hour == hour * 3_600_000
    for ago, added in ((1, 5), (23, 7)):
        stage.client.hset(stage.keys.fingerprint(group.fingerprint), f"h{(hour - ago) % 24}", f"{hour - ago} {added}")
    assert the_group(queries).hourly == (7, *[0] * 21, 5, 4)


async def test_a_requeued_one_that_fails_again_counts_again(stage: Stage, queries: Queries) -> None:
    stage.minute()
    await bury(stage, 2)
    stage.commands.dlq_requeue(queries.dead_letters().items[0].task_id, ACTOR)
    await bury(stage, 0)
    group = the_group(queries)
    assert (group.count, group.hourly[-1]) == (2, 3)


@pytest.mark.parametrize("planted", ["{yesterday} 9", "{hour}", "{hour} many", "{hour} -1", "", "\udcff"])
async def test_what_is_of_another_day_or_no_count_is_none(stage: Stage, queries: Queries, planted: str) -> None:
    hour = stage.minute() // 60
    await bury(stage, 1)
    value = planted.format(hour=hour, yesterday=hour - 24).encode(errors="surrogateescape")
    stage.client.hset(stage.keys.fingerprint(the_group(queries).fingerprint), f"h{hour % 24}", value)
    assert the_group(queries).hourly == (0,) * 24
    await bury(stage, 2)
    assert the_group(queries).hourly[-1] == 2
