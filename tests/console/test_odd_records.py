"""A record, an index or an entry that somebody damaged spoils its own row and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tasks_app.domain.status import TaskStatus

if TYPE_CHECKING:
    from django.test import Client

    from tests.support.stage import Stage

ID = "01a2289f2bc470009999999999999999"
PLANTED: dict[str, dict[str, str | bytes]] = {
    "without status": {"task_type": "echo"},
    "bytes that are no text": {"status": "queued", "task_type": b"\xff\xfe"},
    "unknown status": {"status": "melted", "task_type": "echo", "queue": "default"},
    "no birth": {"status": "queued", "task_type": "echo", "queue": "default", "priority": "5"},
    "numbers that are none": {"status": "queued", "task_type": "echo", "priority": "high", "created_at": "soon"},
}


def _plant(stage: Stage, record: dict[str, str | bytes], status: TaskStatus = TaskStatus.QUEUED) -> str:
    good = stage.submit()
    stage.client.hset(stage.keys.task(ID), mapping=record)
    stage.client.zadd(stage.keys.index(status), {ID: 0})
    return good


@pytest.mark.parametrize("record", PLANTED.values(), ids=PLANTED.keys())
def test_a_damaged_record_is_a_row_that_can_be_opened_and_discarded(
    browser: Client, htmx: Client, stage: Stage, record: dict[str, str | bytes]
) -> None:
    good = _plant(stage, record)
    for path in ("/", "/tasks/", "/tasks/?status=queued", "/dlq/", "/queues/", "/workers/", "/audit/"):
        assert browser.get(path).status_code == 200
    listed = browser.get("/tasks/?status=queued").text
    assert f"t-{good}" in listed
    assert f"t-{ID}" in listed
    assert "unreadable" in listed
    page = browser.get(f"/tasks/{ID}/")
    assert page.status_code == 200
    assert "does not decode" in page.text
    assert htmx.post(f"/tasks/{ID}/discard/").status_code == 202
    assert f"t-{ID}" not in browser.get("/tasks/?status=queued").text


def test_a_payload_that_is_no_json_has_a_page_that_says_so(browser: Client, stage: Stage) -> None:
    task_id = stage.submit()
    stage.client.hset(stage.keys.task(task_id), "payload", '{"broken": <b>')
    page = browser.get(f"/tasks/{task_id}/")
    assert page.status_code == 200
    assert "does not decode" in page.text
    assert "<b>" not in page.text
    assert browser.get("/tasks/").status_code == 200


def test_an_index_that_points_nowhere_is_not_a_row(browser: Client, stage: Stage) -> None:
    good = stage.submit()
    stage.client.zadd(stage.keys.index(TaskStatus.QUEUED), {ID: 0, "not-an-id": 0})
    listed = browser.get("/tasks/?status=queued")
    assert listed.status_code == 200
    assert f"t-{good}" in listed.text


def test_a_dead_letter_without_fields_does_not_spoil_the_list(browser: Client, stage: Stage) -> None:
    stage.client.xadd(stage.keys.dead_letters, {"nonsense": b"\xff"})
    stage.client.zadd(stage.keys.fingerprints, {"feed": 1})
    for path in ("/", "/dlq/", "/dlq/?view=flat", "/dlq/?kind=feed"):
        assert browser.get(path).status_code == 200


def test_an_audit_entry_without_fields_does_not_spoil_the_list(browser: Client, stage: Stage) -> None:
    stage.client.xadd(stage.keys.audit, {"nonsense": b"\xff"})
    assert browser.get("/audit/").status_code == 200


def test_a_worker_with_half_a_heartbeat_does_not_spoil_the_list(browser: Client, stage: Stage) -> None:
    stage.client.zadd(stage.keys.workers, {"odd": 1})
    stage.client.hset(stage.keys.worker("odd"), "state", "ready")
    assert browser.get("/workers/").status_code == 200
    assert browser.get("/").status_code == 200
