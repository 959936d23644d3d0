"""History, the keyboard, small screens, sub-paths, and what axe has to say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.base import AXE_FILE_PATH
from playwright.async_api import expect

from tasks_app.domain.status import TaskStatus
from tasks_app.store.leases import Note
from tests.browser.conftest import new_context
from tests.browser.tab import Tab, open_tab

if TYPE_CHECKING:
    from playwright.async_api import Browser

    from tests.browser.site import Site
    from tests.support.stage import Stage

NASTY = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    '" onmouseover=alert(3) x="',
    "{{7*7}}",
]


async def test_back_and_reload_give_whole_pages(tab: Tab, stage: Stage) -> None:
    task_id = stage.submit()
    stage.submit(queue="mail")
    await tab.go("/tasks/")
    await tab.live()
    await stage.claim(limit=1)
    await expect(tab.page.locator(".badge", has_text="running")).to_have_count(1)
    await tab.page.locator("select[name=queue]").select_option("mail")
    await expect(tab.page).to_have_url(re.compile(r"\?queue=mail$"))
    await expect(tab.page.locator("tr[data-id]")).to_have_count(1)
    await tab.page.locator("tr[data-id] a[data-open]").click()
    await expect(tab.page).to_have_url(re.compile(r"/tasks/[0-9a-f]{32}/$"))
    await tab.page.go_back()
    await expect(tab.page).to_have_url(re.compile(r"\?queue=mail$"))
    await expect(tab.page.locator("select[name=queue]")).to_have_value("mail")
    await expect(tab.page.locator("nav.nav")).to_be_visible()
    await tab.page.go_back()
    await expect(tab.page.locator(f"#t-{task_id}")).to_be_visible()
    await tab.page.reload()
    await expect(tab.page.locator("tr[data-id]")).to_have_count(2)
    await expect(tab.page.locator("nav.nav")).to_be_visible()


async def test_by_keyboard_alone(tab: Tab, stage: Stage) -> None:
    ids = sorted(stage.submit() for _ in range(3))
    await tab.go("/")
    keys = tab.page.keyboard
    await keys.type("gt")
    await tab.arrives("/tasks/")
    await expect(tab.page.locator("tr[data-id]")).to_have_count(3)
    await keys.press("j")
    await keys.press("j")
    await expect(tab.page.locator("tr.is-cursor")).to_have_attribute("data-id", ids[1])
    await keys.press("x")
    await expect(tab.page.locator("[data-count]")).to_have_text("1 selected on this page")
    await keys.press("Escape")
    await expect(tab.page.locator("#selection")).to_be_hidden()
    await keys.press("?")
    await expect(tab.page.locator("#help")).to_be_visible()
    await keys.press("Escape")
    await keys.press("k")
    await keys.press("Enter")
    await tab.arrives(f"/tasks/{ids[2]}/")
    await tab.page.locator("#f-head button", has_text="Cancel").focus()
    await keys.press("Enter")
    await expect(tab.page.locator("#f-head .badge")).to_have_text("cancelled")
    await keys.press("Escape")
    await keys.press("Escape")
    await tab.arrives("/tasks/")
    await keys.press("/")
    await keys.type(ids[0])
    await keys.press("Enter")
    await tab.arrives(f"/tasks/{ids[0]}/")


async def test_under_a_sub_path(make_site: Callable[..., Site], browser: Browser, stage: Stage) -> None:
    site = make_site(django_script_name="/ops/queue")
    task_id = stage.submit()
    context = await new_context(browser)
    tab = await open_tab(context, site.root)
    await tab.go("/tasks/")
    await tab.live()
    await stage.claim()
    await expect(tab.page.locator(f"#t-{task_id} .badge")).to_have_text("running")
    await tab.page.get_by_role("link", name="Overview").click()
    await expect(tab.page.locator(".u-wrap")).to_have_count(4)
    tab.check()
    await context.close()


async def _populate(stage: Stage) -> dict[str, str]:
    ids = {}
    for status in TaskStatus:
        ids[status.value] = await stage.task(status, queue=f"q-{status.value.replace('_', '-')}")
    return ids


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_on_any_page(site: Site, browser: Browser, stage: Stage, scheme: str) -> None:
    ids = await _populate(stage)
    # The policy forbids injected scripts, axe among them; a policy-free profile runs the same pages.
    context = await new_context(browser, color_scheme=scheme, bypass_csp=True)
    tab = await open_tab(context, site.root)
    axe = AXE_FILE_PATH.read_text()
    found = {}
    paths = ["/", "/tasks/", "/tasks/?queue=none", "/dlq/", "/dlq/?view=flat", "/queues/", "/queues/q-queued/"]
    paths += ["/workers/", "/audit/", "/system/", "/login/", "/tasks/nope/"]
    paths += [f"/tasks/{ids[name]}/" for name in ("queued", "running", "dead_lettered", "succeeded")]

    async def look(what: str) -> None:
        await tab.page.evaluate(axe)
        report = await tab.page.evaluate(
            "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"
        )
        for problem in report["violations"]:
            found[f"{what} {problem['id']}"] = [node["html"][:160] for node in problem["nodes"][:3]]

    for path in paths:
        await tab.go(path)
        await look(path)
    await tab.go("/tasks/")
    await tab.page.locator("#tick-all").check()
    await look("the selection bar")
    await tab.page.locator("#selection [data-bulk=run-now]").click()
    await expect(tab.page.locator(".toast")).to_be_visible()
    await look("a toast")
    await tab.page.keyboard.press("?")
    await expect(tab.page.locator("#help")).to_be_visible()
    await look("the keyboard help")
    for name in ("Pause…", "Purge…"):
        await tab.go("/queues/q-queued/")
        await tab.page.get_by_role("button", name=name).click()
        await expect(tab.page.locator("#dialog")).to_be_visible()
        await look(name)
    for _ in range(11):
        stage.submit()
    await tab.go("/tasks/?status=queued")
    await tab.page.locator("#tick-all").check()
    await tab.page.locator("#selection [data-bulk=cancel]").click()
    await expect(tab.page.locator("#dialog")).to_be_visible()
    await look("a question")
    assert not found, found
    await context.close()


async def test_nasty_strings_do_nothing(tab: Tab, stage: Stage) -> None:
    opened = []
    tab.page.on("dialog", lambda dialog: opened.append(dialog.message))
    for nasty in NASTY:
        claimed = await stage.running(worker=nasty, payload_json=json.dumps({nasty: nasty}))
        await stage.leases.note(nasty, [Note(claimed.id, claimed.attempt, 0.5, nasty, (nasty,))])
        await tab.go(f"/tasks/{claimed.id}/")
        await tab.live()
        await stage.finish(
            claimed, TaskStatus.DEAD_LETTERED, nasty, error_class=nasty, error_message=nasty, traceback=nasty
        )
        await expect(tab.page.locator("#f-head .badge")).to_have_text("dead letter")
        await expect(tab.page.locator("#f-history")).to_contain_text(nasty)
        for path in ("/", "/tasks/", "/dlq/", "/dlq/?view=flat", "/workers/"):
            await tab.go(path)
            await tab.live()
    assert opened == []


@pytest.mark.parametrize("width", [360, 1280])
async def test_no_page_scrolls_sideways(site: Site, browser: Browser, stage: Stage, width: int) -> None:
    ids = await _populate(stage)
    context = await browser.new_context(viewport={"width": width, "height": 800})
    tab = await open_tab(context, site.root)
    paths = ["/", "/tasks/", "/dlq/", "/dlq/?view=flat", "/queues/", "/queues/q-queued/", "/workers/", "/audit/"]
    for path in [*paths, "/system/", "/login/", f"/tasks/{ids['dead_lettered']}/"]:
        await tab.go(path)
        wide = await tab.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{path} is {wide} wide"
    tab.check()
    await context.close()
