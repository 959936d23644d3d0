"""What has no audit entry of its own says on the task's page where to look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasks_app import runtime
from tasks_app.domain.status import TaskStatus
from tests.support.builders import ACTOR

if TYPE_CHECKING:
    from django.test import Client

    from tests.support.stage import Stage

CANCEL = "Its cancel has no recent entry of its own"
REQUEUE = "Its requeue has no recent entry of its own"


def test_a_purged_task_names_purges_and_operations(browser: Client, stage: Stage) -> None:
    task_id = stage.submit(queue="mail")
    assert CANCEL not in browser.get(f"/tasks/{task_id}/").text
    stage.commands.purge_queue("mail", ACTOR)
    page = browser.get(f"/tasks/{task_id}/").text
    assert CANCEL in page
    assert 'href="/audit/?action=purge"' in page
    assert "mail" in browser.get("/audit/?action=purge").text


def test_a_cancelled_task_has_its_own_entry(browser: Client, stage: Stage) -> None:
    task_id = stage.submit()
    stage.commands.cancel(task_id, ACTOR)
    page = browser.get(f"/tasks/{task_id}/").text
    assert CANCEL not in page
    assert "<h2>Audit</h2>" in page


async def test_what_an_operation_requeued_names_operations(browser: Client, htmx: Client, stage: Stage) -> None:
    by_operation = await stage.task(TaskStatus.DEAD_LETTERED, queue="a")
    alone = await stage.task(TaskStatus.DEAD_LETTERED, queue="b")
    asked = {"status": "dead_lettered", "queue": "a", "confirmed": "1"}
    assert htmx.post("/operations/requeue/", asked).status_code == 200
    runtime.operations().run_for(10)
    stage.commands.dlq_requeue(alone, ACTOR)
    page = browser.get(f"/tasks/{by_operation}/").text
    assert REQUEUE in page
    assert 'href="/operations/"' in page
    assert REQUEUE not in browser.get(f"/tasks/{alone}/").text
