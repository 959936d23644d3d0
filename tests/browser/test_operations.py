"""All that match, in the browser: the question states the number, the page follows the work, an abort ends it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from playwright.async_api import expect

from tasks_app.domain.operation import Selection
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.transitions import Action
from tasks_app.store.operations import Operations
from tests.support.builders import ACTOR
from tests.support.stage import LEADER, TOKEN

if TYPE_CHECKING:
    from tests.browser.tab import Tab
    from tests.support.stage import Stage

MATCHING = 130


async def test_all_that_match_and_not_only_the_page(tab: Tab, stage: Stage) -> None:
    for _ in range(MATCHING):
        stage.submit(queue="mail")
    other = stage.submit(queue="sms")
    await stage.schedule.lead(LEADER, TOKEN)
    await tab.go("/tasks/?status=queued&queue=mail")
    await tab.page.locator("#tick-all").check()
    await expect(tab.page.locator("#selection")).to_contain_text("25 selected on this page")
    everything = tab.page.locator(".everything")
    await expect(everything).to_contain_text(f"All {MATCHING} matching")
    await everything.get_by_role("button", name="Cancel all").click()
    dialog = tab.page.locator("#dialog")
    await expect(dialog).to_contain_text(f"Cancel all {MATCHING} tasks?")
    await expect(dialog).to_contain_text("mail")
    await dialog.get_by_role("button", name=f"Cancel all {MATCHING}").click()
    await tab.page.wait_for_url("**/operations/")
    await tab.page.mouse.move(5, 5)
    row = tab.page.locator("tr[data-id]")
    await expect(row).to_contain_text(f"0 of {MATCHING} looked at")
    await tab.live()
    operations = Operations(stage.client, stage.config)
    [operation] = operations.page().items
    assert operations.step(operation)
    await expect(row).to_contain_text(f"100 of {MATCHING} looked at")
    assert not operations.run_for(10)
    await expect(row.locator(".badge")).to_have_text("finished")
    await expect(row).to_contain_text(f"{MATCHING} done")
    await expect(row.get_by_role("button")).to_have_count(0)
    assert stage.status(other) == "queued"


async def test_an_operation_is_aborted(tab: Tab, stage: Stage) -> None:
    stage.submit()
    operations = Operations(stage.client, stage.config)
    operation = await asyncio.to_thread(operations.begin, Action.CANCEL, Selection(status=TaskStatus.QUEUED), ACTOR)
    await tab.go("/operations/")
    await expect(tab.page.locator(".banner", has_text="Waiting for a scheduler")).to_be_visible()
    await tab.page.get_by_role("button", name="Abort").click()
    await expect(tab.page.locator("tr[data-id] .badge")).to_have_text("aborted")
    assert not operations.get(operation.id).runs
