"""Buttons answer as the API does, where the operator looks, and once however often they are clicked."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from playwright.async_api import expect

from tasks_app.domain.status import TaskStatus
from tests.browser.conftest import new_context
from tests.browser.tab import Tab, open_tab
from tests.support.builders import ACTOR

if TYPE_CHECKING:
    from playwright.async_api import Browser, Route

    from tests.browser.site import Site
    from tests.support.stage import Stage


async def _cancel(tab: Tab, task_id: str) -> int:
    async with tab.page.expect_response(lambda answer: "/cancel/" in answer.url) as caught:
        await tab.page.locator(f"#t-{task_id} button", has_text="Cancel").click()
    answer = await caught.value
    await tab.page.mouse.move(5, 5)
    return int(answer.status)


async def test_cancel_of_a_waiting_task_is_202_and_swaps_the_row(tab: Tab, stage: Stage) -> None:
    task_id = stage.submit()
    await tab.go("/tasks/")
    assert await _cancel(tab, task_id) == 202
    await expect(tab.page.locator(f"#t-{task_id} .badge")).to_have_text("cancelled")
    await expect(tab.page.locator("#toasts")).to_contain_text("cancelled")
    assert stage.status(task_id) == "cancelled"


async def test_cancel_of_a_running_task_is_409_and_shows_cancelling(tab: Tab, stage: Stage) -> None:
    claimed = await stage.running()
    await tab.go("/tasks/")
    assert await _cancel(tab, claimed.id) == 409
    await expect(tab.page.locator(f"#t-{claimed.id} .badge")).to_have_text("cancelling")
    await expect(tab.page.locator("#toasts")).to_contain_text("its worker was told")


async def test_cancel_of_an_ended_task_is_410_and_says_how_it_ended(tab: Tab, stage: Stage) -> None:
    claimed = await stage.running()
    await tab.go("/tasks/")
    await tab.live()
    await tab.page.locator(f"#t-{claimed.id}").hover()
    await stage.finish(claimed, TaskStatus.SUCCEEDED)
    assert await _cancel(tab, claimed.id) == 410
    await expect(tab.page.locator("#toasts")).to_contain_text("had ended, succeeded")
    await expect(tab.page.locator(f"#t-{claimed.id} .badge")).to_have_text("succeeded")


async def test_cancel_of_a_task_that_is_gone_is_404(tab: Tab, stage: Stage) -> None:
    task_id = stage.submit()
    await tab.go("/tasks/")
    await tab.live()
    await tab.page.locator(f"#t-{task_id}").hover()
    stage.client.delete(stage.keys.task(task_id))
    assert await _cancel(tab, task_id) == 404
    await expect(tab.page.locator("#toasts")).to_contain_text("Gone")
    await expect(tab.page.locator(f"#t-{task_id} .badge")).to_have_text("gone")


async def test_a_double_click_is_one_request(tab: Tab, stage: Stage) -> None:
    task_id = stage.submit()
    await tab.go(f"/tasks/{task_id}/")
    both = asyncio.Event()

    async def hold(route: Route) -> None:
        await both.wait()
        await route.continue_()

    await tab.page.route("**/cancel/", hold)
    await tab.page.get_by_role("button", name="Cancel").dblclick()
    both.set()
    await expect(tab.page.locator("#f-head .badge")).to_have_text("cancelled")
    assert sum("/cancel/" in url for url in tab.requests) == 1


async def test_requeue_from_the_dead_letters(tab: Tab, stage: Stage) -> None:
    task_id = await stage.task(TaskStatus.DEAD_LETTERED)
    await tab.go("/dlq/")
    await tab.page.get_by_role("link", name="ValueError").click()
    await tab.arrives(r"\?kind=\w+")
    row = tab.page.locator(f"#t-{task_id}")
    await row.get_by_role("button", name="Requeue").click()
    await expect(tab.page.locator("#toasts")).to_contain_text("requeued")
    await expect(row.locator(".badge")).to_have_text("queued")
    assert stage.status(task_id) == "queued"


async def test_the_buttons_of_a_task_stay_in_place_and_say_why_they_are_disabled(tab: Tab, stage: Stage) -> None:
    task_id = stage.submit()
    await tab.go(f"/tasks/{task_id}/")
    buttons = tab.page.locator("#f-head [data-action]")
    await expect(buttons).to_have_text([re.compile(t) for t in ("Cancel", "Requeue", "Run now", "Discard")])
    await expect(buttons.nth(0)).to_be_enabled()
    await expect(buttons.nth(1)).to_be_disabled()
    why_not = tab.page.get_by_text("Only dead-lettered and failed tasks can be requeued")
    await expect(why_not).to_be_hidden()
    await buttons.nth(0).focus()
    await tab.page.keyboard.press("Tab")
    await expect(buttons.nth(1)).to_be_focused()
    await expect(buttons.nth(1)).to_have_accessible_description(re.compile("^Only dead-lettered and failed"))
    await expect(why_not).to_be_visible()
    await tab.page.keyboard.press("Enter")
    await buttons.nth(0).click()
    await expect(tab.page.locator("#f-head .badge")).to_have_text("cancelled")
    await expect(buttons.nth(0)).to_be_disabled()
    assert not any(url.endswith("/requeue/") for url in tab.requests)


async def test_a_range_is_ticked_with_shift_and_cancelled_after_a_fresh_count(tab: Tab, stage: Stage) -> None:
    ids = sorted(stage.submit() for _ in range(20))
    await tab.go("/tasks/")
    boxes = tab.page.locator("input[data-tick]")
    await boxes.nth(2).click()
    await tab.page.keyboard.press("Enter")
    await boxes.nth(16).click(modifiers=["Shift"])
    await expect(tab.page.locator("[data-count]")).to_have_text("15 selected on this page")
    for task_id in ids[:6]:  # the oldest: four of them are among the ticked
        stage.commands.cancel(task_id, ACTOR)
    await tab.page.locator("#selection [data-bulk=cancel]").click()
    dialog = tab.page.locator("#dialog")
    await expect(dialog).to_contain_text("15 selected; as of now it applies to 12")
    async with tab.page.expect_response(lambda answer: "/bulk/" in answer.url) as caught:
        await dialog.get_by_role("button", name="Cancel 12").click()
    assert (await caught.value).status == 200
    await expect(tab.page.locator("#toasts")).to_contain_text("12 cancelled; 3 skipped (was cancelled)")
    await expect(tab.page.locator("#selection")).to_be_hidden()
    assert sum("/bulk/" in url for url in tab.requests) == 2
    assert sum(stage.status(task_id) == "cancelled" for task_id in ids) == 18


async def test_a_purge_wants_the_queues_name(tab: Tab, stage: Stage) -> None:
    task_id = stage.submit(queue="mail")
    await tab.go("/queues/mail/")
    await tab.page.get_by_role("button", name="Purge…").click()
    dialog = tab.page.locator("#dialog")
    await dialog.get_by_label("Type mail to confirm").fill("male")
    await dialog.get_by_role("button", name="Purge").click()
    await expect(dialog).to_contain_text("Nothing was purged")
    await expect(dialog.get_by_label("Type mail to confirm")).to_be_focused()
    await expect(dialog.get_by_label("Type mail to confirm")).to_have_value("male")
    assert stage.status(task_id) == "queued"
    await dialog.get_by_label("Type mail to confirm").fill("mail")
    await dialog.get_by_role("button", name="Purge").click()
    await expect(tab.page.locator("#toasts")).to_contain_text("1 cancelled")
    assert stage.status(task_id) == "cancelled"


async def test_pause_with_a_reason_and_resume(tab: Tab, stage: Stage) -> None:
    task_id = stage.submit(queue="mail")
    await tab.go("/queues/mail/")
    await tab.page.get_by_role("button", name="Pause…").click()
    await tab.page.get_by_label("Reason").fill("provider is down")
    await tab.page.locator("#dialog").get_by_role("button", name="Pause").click()
    await expect(tab.page.locator("#f-queue")).to_contain_text("provider is down")
    await tab.go(f"/tasks/{task_id}/")
    await expect(tab.page.locator("#f-state")).to_contain_text(
        re.compile("Queue mail was paused by open mode .*: provider is down")
    )
    await tab.go("/queues/mail/")
    await tab.page.get_by_role("button", name="Resume").click()
    await expect(tab.page.get_by_role("button", name="Pause…")).to_be_visible()


async def test_a_queue_is_paused_and_resumed_in_the_list(tab: Tab, stage: Stage) -> None:
    stage.submit(queue="mail")
    stage.submit(queue="other")
    await tab.go("/queues/")
    await tab.page.get_by_role("button", name="Pause… mail").click()
    await expect(tab.page.get_by_label("Reason")).to_be_focused()
    await tab.page.keyboard.type("lunch")
    await tab.page.keyboard.press("Enter")
    row = tab.page.locator("#q-mail")
    await expect(row).to_contain_text("paused")
    await row.get_by_role("button", name="Resume").click()
    await expect(row).not_to_contain_text("paused")


async def test_every_action_works_without_a_script(site: Site, browser: Browser, stage: Stage) -> None:
    dead = await stage.task(TaskStatus.DEAD_LETTERED)
    task_id = stage.submit()
    context = await new_context(browser, java_script_enabled=False)
    tab = await open_tab(context, site.root)
    await tab.go(f"/tasks/{task_id}/")
    await tab.page.get_by_role("button", name="Cancel").click()
    await expect(tab.page.locator("#toasts")).to_contain_text("cancelled")
    await expect(tab.page.locator("#f-head .badge")).to_have_text("cancelled")
    await tab.go(f"/tasks/{dead}/")
    await tab.page.get_by_role("button", name="Requeue").click()
    await expect(tab.page.locator("#f-head .badge")).to_have_text("queued")
    ids = [stage.submit(), stage.submit()]
    await tab.go("/tasks/?status=queued")
    bar = tab.page.locator("#selection")
    await expect(bar).to_be_hidden()
    await tab.page.locator(f"#t-{dead} [data-tick]").check()
    await bar.get_by_role("button", name="Clear").click()
    await expect(bar).to_be_hidden()
    for task_id in ids:
        await tab.page.locator(f"#t-{task_id} [data-tick]").check()
    await tab.page.keyboard.press("Enter")
    await bar.get_by_role("button", name="Cancel").click()
    await expect(tab.page.locator("#toasts")).to_contain_text("2 cancelled.")
    await expect(tab.page).to_have_url(re.compile(r"/tasks/\?status=queued$"))
    assert [stage.status(task_id) for task_id in [*ids, dead]] == ["cancelled", "cancelled", "queued"]
    await tab.page.locator("select[name=queue]").select_option("default")
    await tab.page.get_by_role("button", name="Filter").click()
    await expect(tab.page).to_have_url(re.compile("queue=default"))
    tab.check()
    await context.close()
