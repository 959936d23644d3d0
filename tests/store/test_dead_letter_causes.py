"""The causes of dead letters, each of which can be read by itself."""

from __future__ import annotations

import pytest

from tasks_app.domain.status import TaskStatus
from tasks_app.store.queries import Queries
from tests.support.stage import Stage


async def test_each_cause_is_found_however_many_come_after_it(stage: Stage, queries: Queries) -> None:
    assert queries.dead_letter_causes() == 0
    for number in range(4):
        task_id = await stage.task(TaskStatus.DEAD_LETTERED, task_type=f"type-{number}")
        fingerprint = stage.record(task_id)["fingerprint"]
        stage.client.zadd(stage.keys.fingerprints, {fingerprint: number})
    groups = queries.dead_letter_groups(3)
    assert [group.task_type for group in groups] == ["type-3", "type-2", "type-1"]
    first = stage.record(queries.dead_letters().items[-1].task_id)["fingerprint"]
    found = queries.dead_letter_group(first)
    assert found and (found.task_type, found.count) == ("type-0", 1)
    assert queries.dead_letter_group(groups[0].fingerprint) == groups[0]
    assert queries.dead_letter_group("nothing") is None
    assert queries.dead_letter_causes() == 4


@pytest.mark.parametrize("seen", ["inf", "-inf", "1e300", "-5"])
async def test_pages_leave_out_what_no_calendar_has_and_go_on(stage: Stage, queries: Queries, seen: str) -> None:
    for task_type in ("a", "b"):
        await stage.task(TaskStatus.DEAD_LETTERED, task_type=task_type)
    planted = await stage.task(TaskStatus.DEAD_LETTERED, task_type="planted")
    stage.client.zadd(stage.keys.fingerprints, {stage.record(planted)["fingerprint"]: float(seen)})
    first = queries.dead_letter_group_page(None, 1)
    second = queries.dead_letter_group_page(first.next, 1)
    assert {group.task_type for group in (*first.items, *second.items)} == {"a", "b"}
    assert second.next is None
