"""Every page: what it answers, what it costs, and that its refresh is the page's own part."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from django.test import Client, RequestFactory
from django.views.defaults import server_error

from tasks_app.domain.status import TaskStatus
from tasks_app.store import api_keys

if TYPE_CHECKING:
    from tests.console.conftest import Configure
    from tests.support.stage import Stage

LISTS = [
    "/",
    "/tasks/",
    "/tasks/?status=queued",
    "/tasks/?queue=default",
    "/tasks/?type=echo",
    "/tasks/?status=queued&queue=default&type=echo",
    "/tasks/?status=running",
    "/tasks/?worker=w1",
    "/tasks/?since=1h",
    "/tasks/?q=01",
    "/dlq/",
    "/dlq/?view=flat",
    "/queues/",
    "/queues/default/",
    "/workers/",
    "/audit/",
    "/system/",
]
# No index serves these alone, so they look at tasks one by one, at most 2,000 of them.
SEARCHES = {"/tasks/?queue=default", "/tasks/?type=echo", "/tasks/?worker=w1"} | {
    "/tasks/?status=queued&queue=default&type=echo",
}
KILOBYTES_200 = 200 * 1024


async def _one_of_each(stage: Stage) -> dict[TaskStatus, str]:
    return {status: await stage.task(status, queue=f"q-{i}") for i, status in enumerate(TaskStatus)}


@pytest.mark.parametrize("path", [path for path in LISTS if path != "/queues/default/"])
def test_pages_of_an_empty_queue_say_so(browser: Client, path: str) -> None:
    answer = browser.get(path)
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    assert "default-src 'none'" in answer["Content-Security-Policy"]
    assert "Open local mode" in answer.text
    assert not re.search(r"<[^>]+\s(style|on\w+)=|<style|<script(?![^>]*src=)", answer.text)


async def test_every_status_has_its_page_row_and_tab(browser: Client, stage: Stage) -> None:
    for status, task_id in (await _one_of_each(stage)).items():
        page = browser.get(f"/tasks/{task_id}/")
        assert page.status_code == 200
        listed = browser.get(f"/tasks/?status={status}")
        assert f'id="t-{task_id}"' in listed.text
        assert "1 on this page of 1" in listed.text


async def test_a_refresh_is_the_pages_own_part(browser: Client, stage: Stage) -> None:
    ids = await _one_of_each(stage)
    for path in [*LISTS, f"/tasks/{ids[TaskStatus.RUNNING]}/", f"/tasks/{ids[TaskStatus.DEAD_LETTERED]}/"]:
        if path == "/queues/default/":
            continue
        stage.minute()  # charts move on with it
        page = browser.get(path).text
        names = re.findall(r'data-fragment="([\w-]+)"', page)
        assert names
        for name in names:
            answer = browser.get(path, query_params={"fragment": name} | _params(path))
            assert answer["Cache-Control"] == "no-store"
            part = re.fullmatch(
                r'<hx-partial hx-target="#f-[\w-]+" hx-swap="outerMorph">(.*)</hx-partial>', answer.text, re.DOTALL
            )
            assert part
            assert _still(part[1]) in _still(page)


def test_pages_outside_the_frame_tell_the_environment_and_the_mode(configure: Configure) -> None:
    browser = Client(raise_request_exception=False)
    for key, is_open in (("", True), ("secret-key", False)):
        configure(env_name="staging", api_key=key)
        texts = [server_error(RequestFactory().get("/")).content.decode()]
        texts += [browser.get("/", headers={"host": "else.where"}).text]
        texts += [browser.get(path).text for path in ("/none/such/", "/api/docs/", *(["/login/"] if key else []))]
        for text in texts:
            assert text.count('<span class="env" title="Environment: staging">staging</span>') == 1
            assert ("Open local mode" in text) is is_open
    configure(env_name="", api_key="secret-key")
    for path in ("/none/such/", "/api/docs/"):
        assert 'class="env"' not in browser.get(path).text


def test_nobody_keeps_what_is_said_of_tasks(browser: Client, stage: Stage) -> None:
    task_id = stage.submit()
    for path in (f"/tasks/{task_id}.json", f"/tasks/{task_id}/text/payload", f"/api/v1/tasks/{task_id}"):
        answer = browser.get(path)
        assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")


def _params(path: str) -> dict[str, str]:
    query = path.partition("?")[2]
    return dict(pair.split("=", 1) for pair in query.split("&")) if query else {}


def _still(html: str) -> str:
    """The page without what is different at every request: tokens, and texts and samples that tick."""
    html = re.sub(r'value="[A-Za-z0-9]{64}"', "", html)
    html = re.sub(r"<time[^>]*>[^<]*</time>", "", html)
    return re.sub(r"\d[\d.,]*", "0", html)


async def test_rows_are_ticked_only_where_the_ticked_can_be_acted_on(browser: Client, stage: Stage) -> None:
    await stage.running(queue="mail")
    await stage.task(TaskStatus.DEAD_LETTERED)
    for path, ticks in (("/tasks/", 2), ("/dlq/?view=flat", 1), ("/queues/mail/", 0)):
        page = browser.get(path).text
        assert page.count("data-tick ") == ticks, path
        assert page.count('class="tick"') == ticks + bool(ticks), path
        assert page.count('id="selection"') == bool(ticks), path


@pytest.mark.real_redis
async def test_the_cost_of_a_page_does_not_depend_on_the_number_of_tasks(
    browser: Client, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_keys, "LOOK_EVERY_S", 3600)  # whichever page comes a second later would pay for the look
    browser.get("/")

    async def grow(count: int) -> None:
        for _ in range(count):
            stage.submit()
            claimed = await stage.running(queue="failing")
            await stage.finish(claimed, TaskStatus.DEAD_LETTERED)

    def costs() -> dict[str, int]:
        found = {}
        for path in [path for path in LISTS if path not in SEARCHES]:
            before = stage.client.info("stats")["total_commands_processed"]
            assert browser.get(path).status_code == 200
            found[path] = stage.client.info("stats")["total_commands_processed"] - before
        return found

    await grow(120)
    stage.minute()  # a new one is read as well
    few = costs()
    await grow(200)
    many = costs()
    assert few == many


@pytest.mark.parametrize("limit", [25, 100])
async def test_a_list_stays_small_whatever_the_payloads(browser: Client, stage: Stage, limit: int) -> None:
    big = '{"x":"' + "y" * 200_000 + '"}'
    for _ in range(limit + 1):
        claimed = await stage.running(payload_json=big)
        await stage.finish(claimed, TaskStatus.DEAD_LETTERED, error_message="e" * 5000, traceback="t" * 5000)
    for path in (f"/tasks/?limit={limit}", "/dlq/?view=flat", "/dlq/", "/"):
        assert len(browser.get(path).content) < KILOBYTES_200


def test_odd_addresses_are_refused_with_a_page(browser: Client) -> None:
    for path, status in {
        "/tasks/?status=bogus": 400,
        "/tasks/?limit=1000000": 400,
        "/tasks/?since=yesterday": 400,
        "/tasks/?cursor=tampered": 400,
        "/audit/?cursor=tampered": 400,
        "/dlq/?cursor=tampered&view=flat": 400,
        "/?window=1y": 400,
        "/tasks/0123/": 404,
        "/queues/none/": 404,
    }.items():
        answer = browser.get(path)
        assert answer.status_code == status, path
        assert 'class="rail"' in answer.text
    assert "No page has this address" in browser.get("/none/such/").text


def test_search_finds_its_way(browser: Client, stage: Stage) -> None:
    task_id = stage.submit(idempotency_key="order-7", queue="mail")
    dashed = f"{task_id[:8]}-{task_id[8:12]}-{task_id[12:16]}-{task_id[16:20]}-{task_id[20:]}"
    for text in (task_id, task_id.upper(), dashed):
        assert browser.get("/search", {"q": text})["Location"] == f"/tasks/{task_id}/"
    answer = browser.get("/search", {"q": "type:echo queue:mail status:queued"}, follow=True)
    assert f"t-{task_id}" in answer.text
    assert f"t-{task_id}" in browser.get("/search", {"q": "order-7"}, follow=True).text
    assert f"t-{task_id}" in browser.get("/search", {"q": task_id[:14]}, follow=True).text


@pytest.mark.parametrize("key", ["8f14e45f-ceea-467f-a9e8-2b0c0a1d2e3f", "8F14E45FCEEA467FA9E82B0C0A1D2E3F"])
def test_a_key_that_looks_like_an_id_is_found(browser: Client, stage: Stage, key: str) -> None:
    task_id = stage.submit(idempotency_key=key)
    assert f"t-{task_id}" in browser.get("/search", {"q": key}, follow=True).text
    none = browser.get("/search", {"q": key.replace("8", "9")}, follow=True)
    assert none.status_code == 200
    assert "No task matches" in none.text


@pytest.mark.parametrize(
    ("path", "typed", "status"),
    [
        ("/search?q=%20queue:mail+status:bogus", " queue:mail status:bogus", 400),
        ("/tasks/?status=bogus&queue=mail&q=order-7", "queue:mail status:bogus order-7", 400),
        ("/tasks/0123/", "0123", 404),
        ("/queues/none/", "", 404),
    ],
)
def test_a_search_that_fails_stays_in_its_box(browser: Client, path: str, typed: str, status: int) -> None:
    answer = browser.get(path)
    assert answer.status_code == status
    box = re.search(r'id="search" value="([^"]*)"', answer.text)
    assert box
    assert box[1] == typed


async def test_counts_agree_between_tile_tab_and_list(browser: Client, stage: Stage) -> None:
    for _ in range(3):
        await stage.task(TaskStatus.DEAD_LETTERED)
    for _ in range(4):
        stage.submit()
    tile = re.search(r'href="/tasks/\?status=queued".*?class="value">(\d+)<', browser.get("/").text, re.DOTALL)
    listed = browser.get("/tasks/?status=queued").text
    tab = re.search(r'Queued <span class="count">(\d+)<', listed)
    assert tile
    assert tab
    assert tile[1] == tab[1] == "4" == str(listed.count("data-tick"))
    # No index counts this filter: unknown is shown as unknown.
    assert '<span class="count">—</span>' in browser.get("/tasks/?queue=default&type=echo").text


def test_the_json_and_the_texts_of_a_task_are_exact(browser: Client, stage: Stage) -> None:
    payload = '{"n":9007199254740993,"big":1000000000000000000000000000000,"empty":[],"password":"hunter2"}'
    task_id = stage.submit(payload_json=payload)
    whole = browser.get(f"/tasks/{task_id}.json")
    assert whole.json()["payload"]["n"] == 9007199254740993
    assert "1000000000000000000000000000000" in whole.text
    assert "hunter2" not in whole.text
    of_the_api = browser.get(f"/api/v1/tasks/{task_id}").json()
    of_the_api["payload"]["password"] = "***"
    assert whole.json() == of_the_api
    text = browser.get(f"/tasks/{task_id}/text/payload")
    assert text.text == payload.replace("hunter2", "***")
    page = browser.get(f"/tasks/{task_id}/").text
    assert "hunter2" not in page
    assert "1000000000000000000000000000000" in page
