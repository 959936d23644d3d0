"""A real worker is made quiet, resumed and stopped with the buttons of its line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import expect

from tests.support.until import until, until_async

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasks_app.store.queries import Queries
    from tests.browser.site import Site
    from tests.browser.tab import Tab
    from tests.support.stage import Stage


@pytest.fixture
def worker(site: Site, stage: Stage, queries: Queries) -> Iterator[str]:
    """The id of one that runs beside the site."""
    process = site.spawn("runworker", "--concurrency", "2")
    until(queries.workers, timeout=30, what="the worker is there")
    yield queries.workers()[0].id
    process.kill()
    process.wait()


async def test_quiet_resume_and_stop(tab: Tab, stage: Stage, queries: Queries, worker: str) -> None:
    await tab.go("/workers/")
    row = tab.page.locator(f'[data-row="{worker}"]')
    state = row.locator(".badge").first
    await expect(state).to_have_text("ready")

    async with tab.page.expect_response(re.compile("/quiet/$")) as caught:
        await row.get_by_role("button", name=f"Quiet {worker}").click()
    assert (await caught.value).status == 202
    await expect(tab.page.locator("#toasts")).to_contain_text("told to be quiet")
    await expect(row).to_contain_text("by open mode")
    await tab.page.mouse.move(5, 5)
    await expect(state).to_have_text("quiet")
    task_id = stage.submit(task_type="noop")

    await row.get_by_role("button", name=f"Resume {worker}").click()
    await tab.page.mouse.move(5, 5)
    await until_async(lambda: stage.status(task_id) == "succeeded", what="it takes tasks again")
    await expect(row.get_by_role("button", name=f"Quiet {worker}")).to_be_visible()

    await row.get_by_role("button", name=f"Stop… {worker}").click()
    dialog = tab.page.locator("#dialog")
    await expect(dialog.get_by_role("button", name="Leave it")).to_be_focused()
    await dialog.get_by_role("button", name="Leave it").click()
    assert queries.worker(worker).told is None
    await row.get_by_role("button", name=f"Stop… {worker}").click()
    await expect(dialog.get_by_role("button", name="Leave it")).to_be_focused()  # the answer to the click is here
    async with tab.page.expect_response(re.compile("/stop/$")) as caught:
        await dialog.get_by_role("button", name="Stop").click()
    assert (await caught.value).status == 202
    await until_async(lambda: not queries.workers(), what="it has left")
    await tab.page.mouse.move(5, 5)
    await expect(tab.page.locator("#f-workers")).to_contain_text("No worker")
