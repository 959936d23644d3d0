"""A task's page says what of its history is gone, and its JSON is the API's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tasks_app.domain.status import TaskStatus
from tasks_app.store.leases import Note
from tasks_app.store.scripts import ATTEMPTS_KEPT, LOG_LINES
from tests.support.stage import WORKER

if TYPE_CHECKING:
    from django.test import Client

    from tests.support.stage import Stage


async def test_the_json_of_a_task_with_a_history_is_the_apis(browser: Client, stage: Stage) -> None:
    task = await stage.running()
    await stage.leases.note(WORKER, [Note(task.id, 1, 0.5, "half", ("one", "two"))])
    await stage.finish(task, TaskStatus.DEAD_LETTERED)
    whole = browser.get(f"/tasks/{task.id}.json").json()
    assert whole == browser.get(f"/api/v1/tasks/{task.id}").json()
    assert len(whole["attempts"]) == 1
    assert [line["message"] for line in whole["log"]] == ["one", "two"]


async def test_the_page_says_when_older_lines_and_attempts_are_gone(browser: Client, stage: Stage) -> None:
    task = await stage.running()
    await stage.leases.note(WORKER, [Note(task.id, 1, lines=tuple(f"line {n}" for n in range(LOG_LINES - 1)))])
    page = browser.get(f"/tasks/{task.id}/").text
    assert f"{LOG_LINES - 201} older lines are in the JSON" in page
    assert "not kept" not in page
    await stage.leases.note(WORKER, [Note(task.id, 1, lines=("one more", "and one"))])
    assert f"older ones than the last {LOG_LINES} are not kept" in browser.get(f"/tasks/{task.id}/").text
    await stage.finish(task, TaskStatus.DEAD_LETTERED)
    one = stage.client.lindex(stage.keys.attempts(task.id), 0)
    assert json.loads(one)["number"] == 1
    stage.client.rpush(stage.keys.attempts(task.id), *[one] * (ATTEMPTS_KEPT - 1))
    assert f"older ones than the last {ATTEMPTS_KEPT} are not kept" in browser.get(f"/tasks/{task.id}/").text
