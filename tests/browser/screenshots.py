"""Takes the pictures in docs/screenshots: ``python -m tests.browser.screenshots``.

A private server, a site, a worker and the demo's traffic run for a minute; the hour before it is made up.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from tasks_app.conf import PROJECT_DIR
from tasks_app.domain.snapshot import Actor
from tasks_app.store.commands import Commands
from tasks_app.store.connections import connect
from tasks_app.store.keys import Keys
from tasks_app.store.queries import Queries
from tests.browser.conftest import CHROMIUM
from tests.browser.site import Site
from tests.support.builders import make_config
from tests.support.server import PrivateServer
from tests.support.until import until

if TYPE_CHECKING:
    import redis
    from playwright.sync_api import Browser

TARGET = PROJECT_DIR / "docs" / "screenshots"
SIZES = {"desktop": (1280, 800), "phone": (360, 740)}
SCHEMES = ("light", "dark")
TRAFFIC_S = 60
PAGES = {
    "overview": "/",
    "tasks": "/tasks/",
    "task-running": "/tasks/?status=running&type=report.build",
    "task-waiting": "/tasks/?status=queued&queue=emails",
    "task-dead": "/tasks/?status=dead_lettered",
    "dead-letters": "/dlq/",
    "kind": "/dlq/",
    "queues": "/queues/",
    "queue": "/queues/emails/",
    "workers": "/workers/",
    "operations": "/operations/",
    "audit": "/audit/",
    "system": "/system/",
}


def main() -> None:
    """Start everything, wait for something to look at, look at it."""
    TARGET.mkdir(parents=True, exist_ok=True)
    server = PrivateServer()
    server.start()
    with tempfile.TemporaryDirectory() as folder:
        site = Site(server.url, Path(folder), env_name="staging", worker_concurrency="8")
        client = connect(server.url)
        _make_up_an_hour(client)
        site.start()
        others = [site.spawn("runworker"), site.spawn("demo", "--rate", "6")]
        try:
            began = time.monotonic()
            until(lambda: time.monotonic() - began > TRAFFIC_S, timeout=TRAFFIC_S + 10)
            Commands(client, make_config()).pause("emails", Actor("ada"), "mail provider is down")
            until(lambda: client.zcard(Keys("dtq").index("queued", queue="emails")) > 8, timeout=60)
            for queue in ("emails", "reports"):
                _bring_back_what_died(site.root, queue)
            _make_up_a_day_of_failures(client)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                for scheme in SCHEMES:
                    for size in SIZES:
                        _take(browser, site.root, scheme, size)
                browser.close()
        finally:
            for process in others:
                process.terminate()
            for process in others:
                process.wait(timeout=60)
            site.stop()
            client.close()
            server.close()


def _take(browser: Browser, root: str, scheme: str, size: str) -> None:
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    for name, path in PAGES.items():
        page.goto(root + path)
        if name.startswith(("task-", "kind")):
            page.goto(root + str(page.locator("a[data-open]").first.get_attribute("href")))
        page.locator("#stamp[data-state=live]").wait_for()
        page.screenshot(path=TARGET / f"{name}-{size}-{scheme}.png")
    context.close()


def _bring_back_what_died(root: str, queue: str) -> None:
    """Begin an operation: a requeue of a queue's dead letters."""
    body = json.dumps({"action": "requeue", "filter": {"status": "dead_lettered", "queue": queue}}).encode()
    address = f"{root}/api/v1/operations"
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})  # noqa: S310 - our own http
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        assert answer.status == 202


def _make_up_a_day_of_failures(client: redis.Redis) -> None:
    """Each kind's hours before this one: one grows, one comes and goes, one is new, and so on in turn."""
    keys = Keys("dtq")
    seconds, _ = client.time()
    hour = int(seconds) // 3600
    shapes = (
        lambda ago: 24 - ago,
        lambda ago: 9 * (ago % 8 in (2, 3)),
        lambda ago: 0,
        lambda ago: 3 + ago % 3,
        lambda ago: 20 * (ago == 6) + 7 * (ago == 5),
    )
    for group, shape in zip(Queries(client, make_config()).dead_letter_groups(), itertools.cycle(shapes), strict=False):
        client.hset(
            keys.fingerprint(group.fingerprint),
            mapping={f"h{(hour - ago) % 24}": f"{hour - ago} {shape(ago)}" for ago in range(1, 24)},
        )


def _make_up_an_hour(client: redis.Redis) -> None:
    """Statistics of an hour with a wave, a quiet stretch and a few failures."""
    keys = Keys("dtq")
    seconds, _ = client.time()
    newest = int(seconds) // 60
    rng = random.Random(7)
    for age in range(61):
        wave = 1 + math.sin((60 - age) / 9)
        done = round(220 + 90 * wave + rng.uniform(-25, 25))
        failed = round(4 + 3 * wave * rng.random())
        slow = max(0, round(30 * (wave - 1.2)))
        client.hset(
            keys.stats("m", newest - age),
            mapping={
                "emails|email.send|submitted": done,
                "emails|email.send|running": done,
                "emails|email.send|succeeded": done,
                "emails|email.send|retrying": failed * 3,
                "emails|email.send|dead_lettered": failed,
                "emails|email.send|w3": done - slow,
                "emails|email.send|w8": slow,
                "emails|email.send|r7": done - 12,
                "emails|email.send|r10": 12,
                "emails||depth": round(18 * wave + 4 * slow),
                "emails||oldest": 300 + 160 * slow,
            },
        )


if __name__ == "__main__":
    main()
