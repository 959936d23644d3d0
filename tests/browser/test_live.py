"""Pages follow the queue without a reload, and never get in the way of the hand that works on them."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import TYPE_CHECKING

from playwright.async_api import expect

from tasks_app.domain.status import TaskStatus
from tasks_app.store.leases import Note
from tests.browser.tab import Tab, eventually, open_tab

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.async_api import Request, Route

    from tests.support.stage import Stage


async def test_a_row_goes_through_three_statuses_without_a_reload(tab: Tab, stage: Stage) -> None:
    task_id = stage.submit()
    await tab.go("/tasks/")
    await tab.page.evaluate("window.unreloaded = true")
    row = tab.page.locator(f"#t-{task_id}")
    await expect(row.locator(".badge")).to_have_text("queued")
    await tab.live()
    [claimed] = (await stage.claim()).tasks
    await expect(row.locator(".badge")).to_have_text("running")
    await stage.finish(claimed, TaskStatus.SUCCEEDED)
    await expect(row.locator(".badge")).to_have_text("succeeded")
    assert await tab.page.evaluate("window.unreloaded")


async def test_new_tasks_become_a_pill_and_never_push_rows(tab: Tab, stage: Stage) -> None:
    first = stage.submit()
    await tab.go("/tasks/")
    await tab.live()
    for _ in range(3):
        stage.submit()
    await expect(tab.page.locator(".pill")).to_have_text(re.compile(r"\s*3 new"))
    rows = tab.page.locator("tr[data-id]")
    await expect(rows).to_have_count(1)
    await expect(rows.first).to_have_attribute("data-id", first)
    await tab.page.locator(".pill").click()
    await expect(rows).to_have_count(4)


async def test_an_empty_list_fills_by_itself(tab: Tab, stage: Stage) -> None:
    await tab.go("/tasks/")
    await expect(tab.page.get_by_text("No task yet")).to_be_visible()
    await tab.live()
    task_id = stage.submit()
    await expect(tab.page.locator(f"#t-{task_id}")).to_be_visible()


async def test_a_row_that_leaves_the_filter_stays_greyed_without_its_box(tab: Tab, stage: Stage) -> None:
    task_id = stage.submit()
    await tab.go("/tasks/?status=queued")
    await tab.live()
    await stage.claim()
    row = tab.page.locator(f"#t-{task_id}")
    await expect(row).to_have_class(re.compile("is-gone"))
    await expect(row.locator("input[data-tick]")).to_have_count(0)
    await tab.page.reload()
    await expect(row).to_have_count(0)


async def test_updates_hold_while_a_row_is_selected_and_catch_up_after(tab: Tab, stage: Stage) -> None:
    task_id, other = stage.submit(), stage.submit(queue="other")
    await tab.go("/tasks/")
    await tab.live()
    await tab.page.locator(f"#t-{other} input[data-tick]").check()
    await tab.page.mouse.move(5, 5)
    await stage.claim(queues=("default",))
    await expect(tab.page.locator("#stamp")).to_have_attribute("data-state", "held")
    await expect(tab.page.locator("#stamp")).to_contain_text("1 selected")
    row = tab.page.locator(f"#t-{task_id} .badge")
    await expect(row).to_have_text("queued")
    await tab.page.locator("[data-clear-selection]").click()
    await expect(row).to_have_text("running")


async def test_updates_hold_while_the_pointer_is_on_the_list(tab: Tab, stage: Stage) -> None:
    task_id = stage.submit()
    await tab.go("/tasks/")
    await tab.live()
    await tab.page.locator(f"#t-{task_id}").hover()
    await stage.claim()
    await expect(tab.page.locator("#stamp")).to_have_attribute("data-state", "held")
    await expect(tab.page.locator(f"#t-{task_id} .badge")).to_have_text("queued")
    await tab.page.mouse.move(5, 5)
    await expect(tab.page.locator(f"#t-{task_id} .badge")).to_have_text("running")


async def test_what_runs_in_a_queue_stays_under_the_pointer(tab: Tab, stage: Stage) -> None:
    claimed = await stage.running(queue="mail")
    await tab.go("/queues/mail/")
    await tab.live()
    rows = tab.page.locator("#f-running tr[data-id]")
    await rows.get_by_role("button", name="Cancel").hover()
    await stage.finish(claimed, TaskStatus.SUCCEEDED)
    other = await stage.running(queue="mail")
    await expect(tab.page.locator("#stamp")).to_have_attribute("data-state", "held")
    await expect(rows).to_have_attribute("data-id", claimed.id)
    await tab.page.mouse.move(5, 5)
    await expect(rows.locator(".badge")).to_have_text("succeeded")
    await expect(rows).to_have_attribute("data-id", claimed.id)
    await tab.page.locator("#f-running .pill", has_text="1 other now").click()
    await expect(rows).to_have_attribute("data-id", other.id)


async def test_typed_text_focus_and_scroll_survive_updates(tab: Tab, stage: Stage) -> None:
    for _ in range(25):
        stage.submit()
    await tab.go("/tasks/")
    await tab.live()
    field = tab.page.get_by_placeholder("Worker id")
    await field.click()
    await field.press_sequentially("worker-4")
    await tab.page.evaluate("window.scrollTo(0, 300)")
    for _ in range(4):
        seen = len(tab.fragments_asked())
        await stage.claim(limit=2)
        await eventually(partial(_more, tab, seen), tab.page)
    await expect(field).to_have_value("worker-4")
    await expect(field).to_be_focused()
    assert await tab.page.evaluate("window.scrollY") == 300


async def test_an_open_row_of_a_task_stays_open_through_updates(tab: Tab, stage: Stage) -> None:
    claimed = await stage.running(payload_json='{"a":1}')
    await tab.go(f"/tasks/{claimed.id}/")
    await tab.live()
    attempt = tab.page.locator("details[id^=attempt-]").first
    await attempt.locator("summary").click()
    await expect(attempt).to_have_attribute("open", "")
    seen = len(tab.fragments_asked())
    await stage.leases.note("w1", [Note(claimed.id, claimed.attempt, 0.4, "page 2 of 5", ("reading",))])
    await expect(tab.page.get_by_text("40 % · page 2 of 5")).to_be_visible()
    await expect(tab.page.locator(".log")).to_contain_text("reading")
    await eventually(partial(_more, tab, seen), tab.page)
    await expect(attempt).to_have_attribute("open", "")


async def test_a_finished_task_is_not_asked_for_any_more(tab: Tab, stage: Stage) -> None:
    claimed = await stage.running()
    await tab.go(f"/tasks/{claimed.id}/")
    await tab.live()
    await stage.finish(claimed, TaskStatus.SUCCEEDED, result_json="42")
    await expect(tab.page.locator("#f-result")).to_contain_text("42")
    await expect(tab.page.locator("#f-head")).to_have_attribute("data-topics", "")


async def test_tabs_of_one_browser_share_one_stream(tab: Tab, stage: Stage) -> None:
    task_id = stage.submit()
    tabs = [tab, *[await open_tab(tab.page.context, tab.root) for _ in range(7)]]
    for each in tabs:
        await each.go("/tasks/")
        await each.live()
    await stage.claim()
    for each in tabs:
        await expect(each.page.locator(f"#t-{task_id} .badge")).to_have_text("running")
    assert sum(url.endswith("/events") for each in tabs for url in each.requests) == 1
    for each in tabs:
        await each.go("/queues/")
        await expect(each.page.get_by_role("heading", name="Queues")).to_be_visible()
        each.check()


async def test_a_tab_that_joins_a_stream_learns_what_it_came_too_late_for(tab: Tab, stage: Stage) -> None:
    task_id = stage.submit()
    await tab.go("/tasks/")
    await tab.live()
    other = await open_tab(tab.page.context, tab.root)
    rendered, over = asyncio.Event(), asyncio.Event()

    async def late(route: Route) -> None:
        rendered.set()
        await over.wait()
        await route.continue_()

    await other.page.route(re.compile(r"/stream\b[^/]*\.js"), late)
    opening = asyncio.create_task(other.go("/tasks/?queue=default"))
    await rendered.wait()
    await stage.claim()
    await expect(tab.page.locator(f"#t-{task_id} .badge")).to_have_text("running")
    over.set()
    await opening
    stage.submit(queue="mail")  # any word will do
    await expect(other.page.locator(f"#t-{task_id} .badge")).to_have_text("running")
    other.check()


async def test_hidden_tabs_are_quiet(tab: Tab, stage: Stage) -> None:
    stage.submit()
    await tab.go("/tasks/")
    await tab.live()
    await tab.page.evaluate(
        "Object.defineProperty(document, 'hidden', {get: () => window.away, configurable: true});"
        "window.away = true; document.dispatchEvent(new Event('visibilitychange'))"
    )
    seen = len(tab.requests)
    await stage.claim()
    await tab.page.wait_for_timeout(1500)
    assert len(tab.requests) == seen
    await tab.page.evaluate("window.away = false; document.dispatchEvent(new Event('visibilitychange'))")
    await expect(tab.page.locator(".badge").first).to_have_text("running")


async def _more(tab: Tab, seen: int) -> bool:
    return len(tab.fragments_asked()) > seen


async def test_after_fifty_pages_one_stream_is_open(tab: Tab, stage: Stage) -> None:
    stage.submit()
    opened = ended = 0

    def count_opened(request: Request) -> None:
        nonlocal opened
        opened += request.url.endswith("/events")

    def count_ended(request: Request) -> None:
        nonlocal ended
        ended += request.url.endswith("/events")

    tab.page.on("request", count_opened)
    tab.page.on("requestfinished", count_ended)
    tab.page.on("requestfailed", count_ended)
    for _ in range(25):
        await tab.go("/tasks/")
        await tab.go("/queues/")
    await tab.live()
    await eventually(partial(_is_one, lambda: opened - ended), tab.page)


async def test_thirty_seconds_of_updates_take_nothing_from_the_hand(tab: Tab, stage: Stage) -> None:
    for _ in range(25):
        stage.submit()
    await tab.go("/tasks/")
    await tab.live()
    boxes = tab.page.locator("input[data-tick]")
    ticked = [await boxes.nth(i).get_attribute("value") for i in range(3, 8)]
    for i in range(3, 8):
        await boxes.nth(i).check()
    search = tab.page.locator("#search")
    await search.fill("order-4")
    await search.focus()
    await tab.page.evaluate("window.scrollTo(0, 240)")
    for _ in range(30):
        stage.submit()
        await stage.claim(limit=1)
        await tab.page.wait_for_timeout(1000)
    assert len(tab.fragments_asked()) >= 5, "the tabs above the list go on, if slowly where the server is slow"
    await expect(tab.page.locator(".tabs [aria-current] .count")).to_have_text("55")
    await expect(search).to_have_value("order-4")
    await expect(search).to_be_focused()
    assert await tab.page.evaluate("window.scrollY") == 240
    await expect(tab.page.locator("input[data-tick]:checked")).to_have_count(5)
    await tab.page.locator("#selection [data-bulk=cancel]").click()
    await expect(tab.page.locator("#toasts")).to_contain_text(re.compile("cancelled"))
    for task_id in ticked:
        record = stage.record(str(task_id))
        assert record["status"] == "cancelled" or "cancel_requested" in record


async def _is_one(number: Callable[[], int]) -> bool:
    return number() == 1
