"""Debian's Chromium against the real site over the run's private server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from tests.support.backend import RealBackend
from tests.support.builders import make_config
from tests.support.stage import Stage

if TYPE_CHECKING:
    import redis
    from playwright.async_api import Browser, BrowserContext

    from tasks_app.store.commands import Commands
    from tasks_app.store.leases import Leases
    from tasks_app.store.schedule import Schedule
    from tests.browser.site import Site
    from tests.support.backend import Backend

CHROMIUM = "/usr/bin/chromium"


@pytest.fixture(scope="session")
def site(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site in open local mode."""
    from tests.browser.site import Site

    if not isinstance(backend, RealBackend):
        pytest.skip("needs a real server")
    if not Path(CHROMIUM).exists():
        pytest.skip(f"needs {CHROMIUM}")
    site = Site(backend.url, tmp_path_factory.mktemp("site"))
    site.start()
    yield site
    site.stop()


@pytest.fixture
def make_site(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Site]]:
    """Makes further sites with other settings, or over another server."""
    from tests.browser.site import Site

    made: list[Site] = []

    def make(redis_url: str = "", **settings: str) -> Site:
        if not redis_url:
            assert isinstance(backend, RealBackend)
            redis_url = backend.url
        site = Site(redis_url, tmp_path_factory.mktemp("other-site"), **settings)
        made.append(site)
        site.start()
        return site

    yield make
    for site in made:
        site.stop()


@pytest_asyncio.fixture
async def browser() -> AsyncIterator[Browser]:
    """A headless Chromium."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest_asyncio.fixture
async def tab(site: Site, browser: Browser, redis_client: redis.Redis) -> AsyncIterator[Any]:
    """A tab on the open site over an emptied server. At its end nothing may have gone wrong in it."""
    from tests.browser.tab import open_tab

    context = await new_context(browser)
    tab = await open_tab(context, site.root)
    yield tab
    tab.check()
    await context.close()


async def new_context(browser: Browser, **options: Any) -> BrowserContext:
    """A browser's profile: cookies, locks and channels are its own."""
    return await browser.new_context(viewport={"width": 1280, "height": 900}, **options)


@pytest.fixture
def stage(redis_client: redis.Redis, commands: Commands, leases: Leases, schedule: Schedule) -> Stage:
    """Brings tasks into any status, as workers would."""
    return Stage(redis_client, make_config(), commands, leases, schedule)
