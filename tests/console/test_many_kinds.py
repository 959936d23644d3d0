"""More kinds of dead letters than a page lists: the pages say so, and each kind has its own page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tasks_app.domain.status import TaskStatus
from tasks_app.store.leases import Finish
from tasks_app.store.queries import MAX_GROUPS
from tests.support.builders import make_submission
from tests.support.stage import WORKER

if TYPE_CHECKING:
    from django.test import Client

    from tests.support.stage import Stage


async def _bury(stage: Stage, classes: list[str]) -> None:
    stage.commands.submit_many([make_submission()] * len(classes))
    while tasks := (await stage.claim(limit=100)).tasks:
        ends = [
            Finish(task.id, task.attempt, TaskStatus.DEAD_LETTERED, "failed", error_class=classes.pop())
            for task in tasks
        ]
        await stage.leases.finish(WORKER, ends)


async def test_a_kind_that_is_not_among_the_latest_has_its_page(browser: Client, stage: Stage) -> None:
    await _bury(stage, ["Old", "Old"])
    [(kind, _)] = stage.client.zrange(stage.keys.fingerprints, 0, -1, withscores=True)
    stage.client.zadd(stage.keys.fingerprints, {kind: 1})  # last seen long ago
    await _bury(stage, [f"Error{number}" for number in range(MAX_GROUPS + 15)])
    listed = browser.get("/dlq/").text
    assert "The latest 200 of 216 kinds of error, 217 letters" in re.sub(r"\s+", " ", listed)
    assert kind.decode() not in listed
    assert "all, 210 more" in browser.get("/").text
    page = browser.get("/dlq/", {"kind": kind}).text
    assert "2 of type echo, first seen" in page
    assert "Requeue the newest 1" in page
    assert "All 2 matching" in page
    assert "2 on this page of 2" in page
