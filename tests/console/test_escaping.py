"""Task data is data: on every page, in every fragment and toast it is plain text."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING

import pytest

from tasks_app.domain.snapshot import Actor
from tasks_app.domain.status import TaskStatus
from tasks_app.store.leases import Note

if TYPE_CHECKING:
    from django.test import Client

    from tests.support.stage import Stage

NASTY = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    '" onmouseover=alert(3) x="',
    "{{7*7}}{% now 'Y' %}",
    "</hx-partial><hx-partial hx-target=body>",
]
_TAG = re.compile(r"<img|<script(?! src=\"/static/)|onmouseover=alert\(3\) x=\"|49|<hx-partial hx-target=body")


def _clean(text: str) -> bool:
    """No nasty string in a form that a browser would take for more than text."""
    return all(nasty not in text for nasty in NASTY) and "49" not in re.findall(r">\s*(49)\s*<", text)


@pytest.mark.parametrize("nasty", NASTY)
async def test_nasty_strings_stay_text(browser: Client, htmx: Client, stage: Stage, nasty: str) -> None:
    worker = f"w-{nasty}"
    text = json.dumps({nasty: nasty, "list": [nasty]})
    claimed = await stage.running(
        worker=worker, payload_json=text, metadata_json=json.dumps({"m": nasty}), idempotency_key=None
    )
    await stage.leases.note(worker, [Note(claimed.id, claimed.attempt, 0.5, nasty, (nasty,))])
    running = await stage.running(worker=worker, payload_json=text, queue="second")
    await stage.leases.note(worker, [Note(running.id, running.attempt, 0.5, nasty, (nasty,))])
    await stage.finish(
        claimed,
        TaskStatus.DEAD_LETTERED,
        worker=worker,
        error_class=nasty,
        error_message=nasty,
        traceback=nasty,
    )
    done = await stage.running(worker=worker, payload_json=text, queue="third")
    await stage.finish(done, TaskStatus.SUCCEEDED, worker=worker, result_json=json.dumps([nasty]))
    stage.commands.pause("second", Actor(nasty, nasty, nasty), reason=nasty)
    paths = ["/", "/tasks/", "/dlq/", "/dlq/?view=flat", "/queues/", "/queues/second/", "/workers/", "/audit/"]
    paths += [f"/tasks/{i}/" for i in (claimed.id, running.id, done.id)]
    for path in paths:
        page = browser.get(path)
        assert page.status_code == 200
        assert _clean(page.text), path
        for name in re.findall(r'data-fragment="([\w-]+)"', page.text):
            part = htmx.get(path, {"fragment": name})
            assert _clean(part.text), (path, name)
    shown = browser.get(f"/tasks/{claimed.id}/").text
    assert html.escape(nasty) in shown
    assert _clean(browser.get("/tasks/", {"worker": worker, "q": nasty}).text)
    assert _clean(browser.get("/search", {"q": f"status:{nasty}"}, follow=True).text)
    assert _clean(browser.get("/audit/", {"task": nasty}).text)
    toast = htmx.post(f"/tasks/{done.id}/cancel/")
    assert _clean(toast.text)
    refused = htmx.post("/tasks/bulk/", {"action": nasty, "ids": nasty})
    assert _clean(refused.text)
    assert _clean(htmx.post("/queues/second/purge/", {"name": nasty}).text)
    question = htmx.post(
        "/tasks/bulk/", {"action": "cancel", "ids": ",".join([nasty.replace(",", "")] * 2 + ["x"] * 2)}
    )
    assert _clean(question.text)


@pytest.mark.parametrize("name", ["a/b", "a:b", "a#b", "a?b=1", "a b", "..", "%2F", "{x}", "ü漢🙂", "x ", "y" * 300])
async def test_odd_names_of_workers_and_ids_have_working_links(browser: Client, stage: Stage, name: str) -> None:
    claimed = await stage.running(worker=name)
    page = browser.get(f"/tasks/{claimed.id}/").text
    link = re.search(r'href="(/tasks/\?worker=[^"]*)"', page)
    assert link
    listed = browser.get(html.unescape(link[1]))
    if name == name.strip():
        assert f"t-{claimed.id}" in listed.text


@pytest.mark.parametrize("task_type", ["a:b", "a.b-c", "A_1", "t" * 128])
async def test_odd_types_filter_only_themselves(browser: Client, stage: Stage, task_type: str) -> None:
    mine = stage.submit(task_type=task_type)
    other = stage.submit(task_type="a")
    listed = browser.get("/tasks/", {"type": task_type}).text
    assert f"t-{mine}" in listed
    assert f"t-{other}" not in listed
