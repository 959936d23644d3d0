"""What breaks is said, disables the buttons, and heals without a reload."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from playwright.async_api import expect

from tests.browser.conftest import new_context
from tests.browser.tab import open_tab
from tests.support.builders import make_config
from tests.support.stage import staged

if TYPE_CHECKING:
    from playwright.async_api import Browser

    from tests.browser.site import Site
    from tests.browser.tab import Tab
    from tests.support.server import PrivateServer
    from tests.support.stage import Stage


async def test_a_restart_of_the_site_heals(make_site: Callable[..., Site], browser: Browser, stage: Stage) -> None:
    site = make_site()
    task_id = stage.submit()
    context = await new_context(browser)
    tab = await open_tab(context, site.root)
    await tab.go("/tasks/")
    await tab.live()
    await tab.page.evaluate("window.unreloaded = true")
    site.stop()
    stamp = tab.page.locator("#stamp")
    await expect(stamp).to_have_attribute("data-state", "down", timeout=20_000)
    await expect(stamp).to_contain_text("no connection")
    await expect(tab.page.locator(f"#t-{task_id} [data-action]")).to_be_disabled()
    await stage.claim()
    site.start()
    await expect(stamp).to_have_attribute("data-state", "live", timeout=20_000)
    await expect(tab.page.locator(f"#t-{task_id} .badge")).to_have_text("running")
    await expect(tab.page.locator(f"#t-{task_id} [data-action]")).to_be_enabled()
    assert await tab.page.evaluate("window.unreloaded")
    await context.close()


async def test_an_outage_of_redis_is_said_and_heals_with_a_resync(
    make_site: Callable[..., Site], browser: Browser, aof_server: PrivateServer
) -> None:
    site = make_site(aof_server.url)
    async with staged(aof_server.url, make_config()) as stage:
        task_id = stage.submit()
    context = await new_context(browser)
    tab = await open_tab(context, site.root)
    await tab.go("/tasks/")
    await tab.live()
    aof_server.stop()
    stamp = tab.page.locator("#stamp")
    await expect(stamp).to_have_attribute("data-state", "down", timeout=20_000)
    await expect(stamp).to_contain_text("Redis does not answer")
    page = await open_tab(context, site.root)
    await page.go("/tasks/")
    await expect(page.page.get_by_role("heading", name="Redis does not answer")).to_be_visible()
    aof_server.start()
    async with staged(aof_server.url, make_config()) as stage:
        await stage.claim()
    await expect(stamp).to_have_attribute("data-state", "live", timeout=20_000)
    await expect(tab.page.locator(f"#t-{task_id} .badge")).to_have_text("running")
    await expect(page.page.locator(f"#t-{task_id}")).to_be_visible(timeout=20_000)
    await context.close()


async def test_without_a_stream_the_page_is_polled(site: Site, browser: Browser, stage: Stage) -> None:
    task_id = stage.submit()
    context = await new_context(browser)
    tab = await open_tab(context, site.root)
    await tab.page.route("**/events", lambda route: route.fulfill(status=404, body="no streams here"))
    await tab.go("/tasks/")
    await stage.claim()
    await expect(tab.page.locator(f"#t-{task_id} .badge")).to_have_text("running", timeout=15_000)
    await expect(tab.page.locator("#stamp")).to_have_attribute("title", re.compile("Asked for every 5 s"))
    tab.check()
    await context.close()


async def test_the_stamp_turns_amber_after_two_missed_updates_and_then_red(
    site: Site, browser: Browser, stage: Stage
) -> None:
    stage.submit()
    context = await new_context(browser)
    tab = await open_tab(context, site.root)
    await tab.page.route("**/events", lambda route: route.fulfill(status=404))
    await tab.go("/tasks/")
    await tab.live()
    await tab.page.route("**/*fragment=*", lambda route: None)  # a server that never answers
    stamp = tab.page.locator("#stamp")
    await expect(stamp).to_have_attribute("data-state", "late", timeout=25_000)
    await expect(stamp).to_contain_text("late, as of")
    await expect(stamp).to_have_attribute("data-state", "down", timeout=25_000)
    await expect(tab.page.locator("[data-bulk=cancel]")).to_be_disabled()
    await tab.page.unroute("**/*fragment=*")
    await expect(stamp).to_have_attribute("data-state", "live", timeout=25_000)
    await context.close()


async def test_on_a_slow_server_one_request_is_in_flight(site: Site, browser: Browser, stage: Stage) -> None:
    for _ in range(5):
        stage.submit()
    context = await new_context(browser)
    tab = await open_tab(context, site.root)
    flying = most = 0

    async def slowly(route: object) -> None:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await tab.page.wait_for_timeout(1500)
        flying -= 1
        await route.continue_()  # type: ignore[attr-defined]

    await tab.page.route("**/*fragment=*", slowly)
    await tab.go("/tasks/")
    await tab.live()
    for _ in range(5):
        await stage.claim(limit=1)
        await tab.page.wait_for_timeout(600)
    await expect(tab.page.locator(".badge", has_text="running")).to_have_count(5, timeout=15_000)
    assert most == 1
    await context.close()


async def test_a_dialog_without_an_answer_says_so_and_keeps_what_was_typed(tab: Tab, stage: Stage) -> None:
    stage.submit(queue="mail")
    await tab.go("/queues/mail/")
    await tab.page.get_by_role("button", name="Pause…").click()
    dialog = tab.page.locator("#dialog")
    await dialog.get_by_label("Reason").fill("provider is down")
    await tab.page.route("**/pause/", lambda route: route.abort())
    toast = dialog.locator(".toast")
    for _ in range(2):
        await dialog.get_by_role("button", name="Pause").click()
        await expect(dialog.locator(".toast:not([data-old])")).to_contain_text("No answer from the server")
        await expect(toast).to_have_count(1)
        await toast.evaluate("toast => { toast.dataset.old = '1'; }")
    await tab.page.unroute("**/pause/")
    tab.forgive()
    await dialog.get_by_role("button", name="Pause").click()
    await expect(dialog).to_be_hidden()
    await expect(tab.page.locator("#f-queue")).to_contain_text("provider is down")
