"""The causes of dead letters, each of which can be read by itself."""

from __future__ import annotations

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
