"""No page of the site, the API's document included, does what its own content security policy forbids."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.until import until_async

if TYPE_CHECKING:
    import redis

    from tests.browser.site import Site

CHROMIUM = "/usr/bin/chromium"
PAGES = ("/", "/tasks/", "/dlq/", "/queues/", "/workers/", "/audit/", "/system/", "/login/")


@pytest.mark.real_redis
@pytest.mark.skipif(not Path(CHROMIUM).exists(), reason=f"needs {CHROMIUM}")
async def test_no_page_breaks_its_own_policy(site: Site, redis_client: redis.Redis) -> None:
    from playwright.async_api import async_playwright, expect

    from tests.browser.tab import open_tab

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = await open_tab(await browser.new_context(), site.root)
        for path in PAGES:
            await tab.go(path)
        await tab.go("/api/docs/")
        await expect(tab.page.locator(".opblock").first).to_be_visible()
        await tab.page.locator(".opblock").first.click()
        await expect(tab.page.locator(".opblock-body").first).to_be_visible()
        tab.check()
        await tab.page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'x'}))")
        await until_async(lambda: any("script-src" in problem for problem in tab.problems), what="a violation is seen")
        await browser.close()
