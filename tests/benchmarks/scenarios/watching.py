"""What people who watch cost the workers."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.figures import Figures
from tests.benchmarks.scenarios.draining import BENCH, DRAINED
from tests.benchmarks.stage import Stage

ROUNDS = 3
SETTLED_S = 3.0  # loading ten pages is not watching them
PAGES = (
    "/",
    "/tasks/",
    "/tasks/?status=queued",
    "/tasks/?status=succeeded",
    "/queues/",
    "/queues/default/",
    "/workers/",
)
CHROMIUM = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def ten_tabs(stage: Stage) -> Figures:
    """20,000 `noop` drained by one worker process while ten tabs of one browser show the console, and while none does.

    Three rounds of each, in turn, in one run: from resume to the last success. Browser, web, worker and server share
    the machine, so what the browser's own drawing takes from two cores is in the difference. All ten tabs believe that
    they are in front, so all refresh; in a person's browser the nine behind keep quiet.
    """
    with stage.workers(1, 200), stage.web(1) as port, _browser() as pages:
        _drain(stage)
        alone, watched = [], []
        for _ in range(ROUNDS):
            for page in pages:
                page.goto("about:blank")
            alone.append(_drain(stage))
            for number, page in enumerate(pages):
                page.goto(f"http://127.0.0.1:{port}{PAGES[number % len(PAGES)]}")
            time.sleep(SETTLED_S)
            watched.append(_drain(stage))
    rates = statistics.median(alone), statistics.median(watched)
    return {
        "alone_per_s": rates[0],
        "watched_per_s": rates[1],
        "watched_percent": rates[1] / rates[0] * 100,
    }


def _drain(stage: Stage) -> float:
    before = stage.succeeded()
    stage.client.sadd(stage.keys.queues, "default")  # a queue that no task has named yet cannot be paused
    stage.commands.pause("default", BENCH)
    stage.submit(DRAINED)
    begun = time.perf_counter()
    stage.commands.resume("default", BENCH)
    stage.wait_for(lambda: stage.succeeded() == before + DRAINED)
    return DRAINED / (time.perf_counter() - begun)


@contextmanager
def _browser() -> Iterator[list[Page]]:
    with tempfile.TemporaryDirectory(prefix="dtq-") as profile, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=shutil.which("chromium"), headless=True, args=list(CHROMIUM)
        )
        try:
            yield [context.new_page() for _ in range(10)]
        finally:
            context.close()
