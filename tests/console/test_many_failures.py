"""Twenty thousand dead letters: every page is small, totals agree, and the last page is there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tasks_app.domain.status import TaskStatus
from tasks_app.store.ingest import MAX_BULK
from tasks_app.store.leases import MAX_CLAIM, Finish
from tests.support.builders import make_submission
from tests.support.stage import WORKER

if TYPE_CHECKING:
    from django.test import Client

    from tests.support.stage import Stage

DEAD = 20_000


async def _bury(stage: Stage) -> None:
    for _ in range(DEAD // MAX_BULK):
        stage.commands.submit_many([make_submission()] * MAX_BULK)
        for _ in range(MAX_BULK // MAX_CLAIM):
            tasks = (await stage.claim(limit=MAX_CLAIM)).tasks
            lost = TaskStatus.DEAD_LETTERED
            await stage.leases.finish(
                WORKER,
                [Finish(t.id, t.attempt, lost, "failed", error_class="Refused", error_message="no") for t in tasks],
            )


@pytest.mark.real_redis
async def test_pages_bear_many_failures(browser: Client, stage: Stage) -> None:
    await _bury(stage)
    for path in (
        "/",
        "/tasks/",
        "/tasks/?status=dead_lettered",
        "/dlq/",
        "/dlq/?view=all",
        "/queues/",
        "/queues/default/",
    ):
        answer = browser.get(path)
        assert answer.status_code == 200, path
        assert len(answer.content) < 200 * 1024, path
        assert re.search(r"20,000|20k|20\.0k", answer.text), path
    oldest = min(task_id.decode() for task_id in stage.client.zrange(stage.keys.index("dead_lettered"), 0, 0))
    page = browser.get("/tasks/", {"q": oldest, "status": "dead_lettered"}).text
    assert oldest in page
