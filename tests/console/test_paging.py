"""Pages by place: each task is seen once, whatever comes and goes."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from tasks_app.domain.status import TaskStatus
from tests.support.builders import ACTOR, make_submission

if TYPE_CHECKING:
    from django.test import Client

    from tests.support.stage import Stage


def _ids(page: str) -> list[str]:
    return re.findall(r'<tr id="t-([0-9a-f]{32})"', page)


def _next(page: str) -> str | None:
    found = re.search(r'rel="next" href="([^"]+)"', page)
    return html.unescape(found[1]) if found else None


def test_each_of_500_is_seen_once_while_others_come_and_go(browser: Client, stage: Stage) -> None:
    receipts = stage.commands.submit_many([make_submission() for _ in range(500)])
    original = {receipt.task.id for receipt in receipts}  # type: ignore[union-attr]
    seen: list[str] = []
    address: str | None = "/tasks/?status=queued"
    pages = {}
    while address:
        page = browser.get(address).text
        pages[address] = _ids(page)
        seen += _ids(page)
        stage.submit()
        address = _next(page)
    assert len(seen) == len(set(seen)) == 500
    assert set(seen) == original
    back = list(pages)[3]
    assert _ids(browser.get(back).text) == pages[back]


def test_a_page_that_has_emptied_is_polite(browser: Client, stage: Stage) -> None:
    ids = [stage.submit() for _ in range(60)]
    first = browser.get("/tasks/?status=queued").text
    second = _next(first)
    assert second
    for task_id in ids:
        stage.commands.cancel(task_id, ACTOR)
    answer = browser.get(second)
    assert answer.status_code == 200
    assert "Nothing further down" in answer.text


async def test_a_refresh_keeps_the_rows_on_the_screen_and_their_way_on(browser: Client, stage: Stage) -> None:
    for _ in range(30):
        stage.submit()
    page = browser.get("/tasks/?status=queued").text
    shown = _ids(page)
    await stage.claim(limit=3)
    stage.submit()
    stage.submit()
    answer = browser.get(
        "/tasks/", {"status": "queued", "fragment": "rows", "shown": ",".join(shown), "next": _cursor(page)}
    )
    assert _ids(answer.text) == shown
    assert "2 new" in answer.text
    assert _cursor(answer.text) == _cursor(page)


async def test_a_refresh_marks_what_left_and_what_is_gone(browser: Client, stage: Stage) -> None:
    left, gone = sorted([stage.submit(), stage.submit()])
    stage.commands.cancel(left, ACTOR)
    stage.client.delete(stage.keys.task(gone))
    answer = browser.get("/tasks/", {"status": "queued", "fragment": "rows", "shown": f"{gone},{left}"}).text
    assert _ids(answer) == [gone, left]
    assert answer.count('class="is-gone"') == 2
    assert "data-tick" not in answer


async def test_a_refresh_of_the_dead_letters_keeps_their_rows(browser: Client, stage: Stage) -> None:
    first = await stage.task(TaskStatus.DEAD_LETTERED)
    shown = _ids(browser.get("/dlq/?view=flat").text)
    assert shown == [first]
    await stage.task(TaskStatus.DEAD_LETTERED)
    answer = browser.get("/dlq/", {"view": "flat", "fragment": "letters", "shown": first}).text
    assert _ids(answer) == [first]
    assert "1 new" in answer


def test_a_refresh_of_the_audit_keeps_its_rows(browser: Client, stage: Stage) -> None:
    for _ in range(3):
        stage.commands.cancel(stage.submit(), ACTOR)
    shown = re.findall(r'data-id="(\d+-\d+)"', browser.get("/audit/").text)
    stage.commands.cancel(stage.submit(), ACTOR)
    answer = browser.get("/audit/", {"fragment": "entries", "shown": ",".join(shown)}).text
    assert re.findall(r'data-id="(\d+-\d+)"', answer) == shown
    assert "1 new" in answer


async def test_a_refresh_of_what_runs_in_a_queue_keeps_its_rows(browser: Client, stage: Stage) -> None:
    ended = await stage.running(queue="mail")
    assert _ids(browser.get("/queues/mail/").text) == [ended.id]
    await stage.finish(ended, TaskStatus.SUCCEEDED)
    later = [await stage.running(queue="mail") for _ in range(11)]
    for names in ("running", "queue"):  # one that is not asked for its rows is not in the way
        answer = browser.get("/queues/mail/", {"fragment": names, "shown": ended.id}).text
        assert _ids(answer) == ([ended.id] if names == "running" else [])
    running = {"fragment": "running", "shown": f"{ended.id},{later[0].id}"}
    answer = browser.get("/queues/mail/", running).text
    assert _ids(answer) == [ended.id, later[0].id]
    assert answer.count('class="is-gone"') == 1
    assert f'action="/tasks/{ended.id}/cancel/"' not in answer
    assert "10+ others now" in answer


def test_a_refresh_of_the_operations_keeps_their_rows(browser: Client, stage: Stage) -> None:
    stage.submit(queue="mail")
    stage.submit(queue="sms")
    browser.post("/operations/cancel/", {"status": "queued", "queue": "mail", "confirmed": "1"})
    shown = re.findall(r'data-id="(\w+)"', browser.get("/operations/").text)
    assert len(shown) == 1
    browser.post("/operations/cancel/", {"status": "queued", "queue": "sms", "confirmed": "1"})
    page = browser.get("/operations/", {"fragment": "operations", "shown": shown[0]}).text
    assert " data-hold" in page
    assert re.findall(r'data-id="(\w+)"', page) == shown
    assert "1 new" in page


def _cursor(page: str) -> str:
    address = _next(page)
    assert address
    return str(re.findall(r"cursor=([\w-]+)", address)[0])
