"""Signing in and out, roles, and armed mode, as people meet them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import pytest
from axe_playwright_python.base import AXE_FILE_PATH
from playwright.async_api import expect

from tasks_app.domain.status import TaskStatus
from tests.browser.conftest import new_context
from tests.browser.tab import Tab, open_tab
from tests.support.backend import RealBackend

if TYPE_CHECKING:
    from playwright.async_api import Browser

    from tests.browser.site import Site
    from tests.support.backend import Backend
    from tests.support.stage import Stage

PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def production(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site with a key and a name, and a user of each role."""
    from tests.browser.site import Site

    if not isinstance(backend, RealBackend):
        pytest.skip("needs a real server")
    site = Site(backend.url, tmp_path_factory.mktemp("production"), api_key="secret-key", env_name="production")
    for name, role in (("ada", "admin"), ("otto", "operator"), ("vera", "viewer")):
        site.manage("createoperator", name, "--role", role, OPERATOR_PASSWORD=PASSWORD)
    site.start()
    yield site
    site.stop()


async def _sign_in(tab: Tab, name: str) -> None:
    await tab.page.get_by_label("User name").fill(name)
    await tab.page.get_by_label("Password").fill(PASSWORD)
    await tab.page.get_by_role("button", name="Sign in").click()


async def test_a_session_that_ends_leads_to_a_login_and_back(production: Site, browser: Browser, stage: Stage) -> None:
    task_id = await stage.task(TaskStatus.PENDING)
    context = await new_context(browser)
    tab = await open_tab(context, production.root)
    await tab.go("/tasks/?status=pending")
    await expect(tab.page.get_by_role("heading", name="Sign in to dtq")).to_be_visible()
    await _sign_in(tab, "ada")
    await expect(tab.page).to_have_url(re.compile(r"/tasks/\?status=pending$"))
    await tab.live()
    await expect(tab.page.get_by_text("Open local mode")).to_have_count(0)
    production.manage(
        "shell", "-c", "from django.contrib.sessions.models import Session; Session.objects.all().delete()"
    )
    await expect(tab.page.get_by_role("heading", name="Sign in to dtq")).to_be_visible(timeout=15_000)
    tab.forgive()
    await _sign_in(tab, "ada")
    await expect(tab.page).to_have_url(re.compile(r"/tasks/\?status=pending$"))
    await tab.page.locator(f"#t-{task_id} [data-tick]").check()
    await tab.page.locator("#selection [data-bulk=run-now]").click()
    await expect(tab.page.locator("#toasts")).to_contain_text("1 brought forward")
    await tab.go("/audit/")
    await expect(tab.page.locator("tbody tr").first).to_contain_text("ada")
    tab.check()
    await context.close()


async def test_viewers_see_and_cannot_act(production: Site, browser: Browser, stage: Stage) -> None:
    task_id = stage.submit()
    context = await new_context(browser)
    tab = await open_tab(context, production.root)
    await tab.go(f"/tasks/{task_id}/")
    await _sign_in(tab, "vera")
    await expect(tab.page.locator("#f-head .badge")).to_have_text("queued")
    await expect(tab.page.locator("[data-action]")).to_have_count(0)
    answer = await tab.page.evaluate(
        """async () => {
            const form = document.querySelector("form[action$='/logout/']");
            return (await fetch("cancel/", {method: "POST", body: new FormData(form)})).status;
        }"""
    )
    assert answer == 403
    assert stage.status(task_id) == "queued"
    await context.close()


async def test_in_production_a_bulk_action_asks_for_the_password_and_goes_on(
    production: Site, browser: Browser, stage: Stage
) -> None:
    ids = [stage.submit() for _ in range(12)]
    context = await new_context(browser)
    tab = await open_tab(context, production.root)
    await tab.go("/tasks/")
    await _sign_in(tab, "otto")
    await tab.arrives("/tasks/")
    await tab.page.locator("#tick-all").check()
    await tab.page.locator("#selection [data-bulk=cancel]").click()
    dialog = tab.page.locator("#dialog")
    for password in ("not it", PASSWORD):
        await expect(dialog.get_by_role("heading", name="This is production")).to_be_visible()
        await expect(dialog.locator("input[type=password]")).to_be_focused()
        await tab.page.keyboard.type(password)
        await tab.page.keyboard.press("Enter")
        if password != PASSWORD:
            await expect(dialog.get_by_role("alert")).to_have_text("That is not your password.")
    await expect(dialog).to_contain_text("12 selected")
    await expect(tab.page.locator("#env")).to_contain_text("armed")
    await dialog.get_by_role("button", name="Cancel 12").click()
    await expect(tab.page.locator("#toasts")).to_contain_text("12 cancelled.")
    await expect(dialog).to_be_hidden()
    await expect(tab.page.locator("#selection")).to_be_hidden()
    assert {stage.status(i) for i in ids} == {"cancelled"}
    await tab.page.locator("#env button").click()
    await expect(tab.page.locator("#env")).not_to_contain_text("armed")
    tab.check()
    await context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_pages_of_people_are_accessible_and_narrow(
    production: Site, browser: Browser, stage: Stage, scheme: Literal["light", "dark"]
) -> None:
    context = await browser.new_context(viewport={"width": 360, "height": 800}, color_scheme=scheme, bypass_csp=True)
    tab = await open_tab(context, production.root)
    await tab.go("/users/")
    await _sign_in(tab, "ada")
    await tab.arrives("/users/")
    found = {}
    axe = AXE_FILE_PATH.read_text()

    async def look(what: str) -> None:
        await tab.page.evaluate(axe)
        report = await tab.page.evaluate(
            "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']})"
        )
        found.update(
            {f"{what} {problem['id']}": str(problem["nodes"][0]["html"])[:160] for problem in report["violations"]}
        )
        assert await tab.page.evaluate("document.documentElement.scrollWidth") <= 360, what

    await look("users")
    await tab.page.get_by_role("button", name="Add a user", exact=True).click()
    await expect(tab.page.locator("[data-arm]")).to_be_focused()
    await look("the password")
    await tab.page.keyboard.type(PASSWORD)
    await tab.page.keyboard.press("Enter")
    await tab.page.get_by_label("Name", exact=True).fill(f"{scheme}-user")
    await tab.page.get_by_label("First password").fill(PASSWORD)
    await tab.page.get_by_role("button", name="Add", exact=True).click()
    await expect(tab.page.locator("#f-users")).to_contain_text(f"{scheme}-user")
    await expect(tab.page.get_by_label("First password")).to_have_value("")
    await look("armed")
    await tab.go("/password/")
    await look("change of a password")
    assert not found, found
    await context.close()
