"""A tab that remembers what went wrong in it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, ConsoleMessage, Page, Request, expect

expect.set_options(timeout=15_000)

# A refused action's status is told to the console by the browser itself; the status is what the test asserts.
_REFUSAL = re.compile(r"status of (400|403|404|409|410|428|429)")


class Tab:
    """A page with its console errors, policy violations and foreign requests."""

    def __init__(self, page: Page, root: str) -> None:
        self.page = page
        self.root = root
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.host = urlsplit(root).netloc
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.problems.append(f"exception: {error}"))
        page.on("request", self._request)

    async def go(self, path: str) -> None:
        """Open a path of the site and wait until it is live."""
        await self.page.goto(self.root + path)

    async def arrives(self, end: str) -> None:
        """Wait until the tab is at an address with this ``end``, a pattern, and its scripts hear keys and clicks."""
        await expect(self.page).to_have_url(re.compile(f"{end}$"))
        await self.page.wait_for_load_state()

    async def live(self) -> None:
        """Wait until the stamp says that the page is live."""
        await expect(self.page.locator("#stamp")).to_have_attribute("data-state", "live")

    def fragments_asked(self) -> list[str]:
        """The addresses of the refreshes so far."""
        return [url for url in self.requests if "fragment=" in url]

    def check(self) -> None:
        """Fail when anything went wrong."""
        assert not self.problems, self.problems

    def forgive(self) -> None:
        """Forget what went wrong so far: the test itself broke the site."""
        self.problems.clear()

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not _REFUSAL.search(message.text):
            self.problems.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        self.requests.append(request.url)
        parts = urlsplit(request.url)
        if parts.scheme in {"http", "https"} and parts.netloc != self.host:
            self.problems.append(f"foreign request: {request.url}")


async def open_tab(context: BrowserContext, root: str) -> Tab:
    """A new tab in a profile."""
    return Tab(await context.new_page(), root)


async def eventually(check: Callable[[], Awaitable[bool]], page: Page, timeout_ms: int = 15_000) -> None:
    """Wait until ``check`` holds.

    Raises:
        AssertionError: it did not within ``timeout_ms``.
    """
    waited = 0
    while not await check():
        assert waited < timeout_ms, "it never came true"
        await page.wait_for_timeout(50)
        waited += 50
