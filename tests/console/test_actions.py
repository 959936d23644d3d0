"""Actions: statuses as the API gives them, one request for many tasks, and nobody acts who may not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django.test import Client

from tasks_app.api.errors import HTTP_STATUS
from tasks_app.console.replies import STATUS_OF
from tasks_app.domain.status import TaskStatus
from tests.support.builders import ACTOR

if TYPE_CHECKING:
    from tasks_app.store.queries import Queries
    from tests.console.conftest import Configure
    from tests.support.stage import Stage


async def test_each_action_on_each_status_answers_as_the_api_does(htmx: Client, stage: Stage) -> None:
    expected = {
        "cancel": {
            TaskStatus.PENDING: 202,
            TaskStatus.QUEUED: 202,
            TaskStatus.RETRYING: 202,
            TaskStatus.RUNNING: 409,
        },
        "requeue": {TaskStatus.DEAD_LETTERED: 202, TaskStatus.FAILED: 202},
        "run-now": {TaskStatus.PENDING: 202, TaskStatus.RETRYING: 202},
        "discard": {TaskStatus.DEAD_LETTERED: 202, TaskStatus.FAILED: 202},
    }
    for action, answers in expected.items():
        for number, status in enumerate(TaskStatus):
            task_id = await stage.task(status, queue=f"{action}-{number}")
            answer = htmx.post(f"/tasks/{task_id}/{action}/")
            refused = 410 if action == "cancel" and status.is_terminal else 409
            assert answer.status_code == answers.get(status, refused), (action, status)
            assert 'hx-target="#toasts"' in answer.text
        assert htmx.post(f"/tasks/none/{action}/").status_code == 404


def test_without_htmx_an_action_leads_back_with_a_message(browser: Client, stage: Stage) -> None:
    task_id = stage.submit()
    answer = browser.post(
        f"/tasks/{task_id}/cancel/", headers={"referer": f"http://testserver/tasks/{task_id}/"}, follow=True
    )
    assert answer.redirect_chain == [(f"http://testserver/tasks/{task_id}/", 302)]
    assert "cancelled." in answer.text
    elsewhere = browser.post(f"/tasks/{task_id}/cancel/", headers={"referer": "https://evil.example/"})
    assert elsewhere["Location"] == "/"


def test_a_form_that_cannot_be_read_is_refused(configure: Configure) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.get("/login/")  # without its cookie no form is looked at
    for charset in ("utf-16", "latin-1"):
        answer = browser.post("/disarm/", b"x=1", f"application/x-www-form-urlencoded; charset={charset}")
        assert answer.status_code == 400
        assert "Not understood" in answer.text


def test_an_error_has_the_status_that_the_api_gives_it() -> None:
    assert {kind: HTTP_STATUS[kind.code] for kind in STATUS_OF} == STATUS_OF


def test_the_audit_has_the_id_that_the_answer_has(htmx: Client, stage: Stage, queries: Queries) -> None:
    answer = htmx.post(f"/tasks/{stage.submit()}/cancel/", headers={"X-Request-ID": "made up"})
    assert [entry.request_id for entry in queries.audit().items] == [answer["X-Request-ID"]]


async def test_bulk_reports_done_skipped_and_why(htmx: Client, stage: Stage) -> None:
    waiting = [stage.submit() for _ in range(3)]
    running = await stage.running(queue="other")
    ended = await stage.task(TaskStatus.SUCCEEDED, queue="third")
    ids = ",".join([*waiting, running.id, ended, "gone"])
    answer = htmx.post("/tasks/bulk/", {"action": "cancel", "ids": ids})
    assert answer.status_code == 200
    assert "3 cancelled; 1 running told to stop; 1 skipped (was succeeded); 1 skipped (gone)." in answer.text
    assert [stage.status(i) for i in waiting] == ["cancelled"] * 3


async def test_more_than_ten_are_asked_about_with_a_fresh_count(htmx: Client, stage: Stage) -> None:
    ids = [stage.submit() for _ in range(12)]
    stage.commands.cancel(ids[0], ACTOR)
    question = htmx.post("/tasks/bulk/", {"action": "cancel", "ids": ",".join(ids)})
    assert question.status_code == 428
    assert "12 selected; as of now it applies to <strong>11</strong>" in question.text
    assert stage.status(ids[1]) == "queued"
    answer = htmx.post("/tasks/bulk/", {"action": "cancel", "ids": ",".join(ids), "confirmed": "1"})
    assert "11 cancelled; 1 skipped (was cancelled)." in answer.text


async def test_1500_ids_are_one_request_and_many_bounded_steps(htmx: Client, stage: Stage) -> None:
    ids = [stage.submit() for _ in range(1500)]
    for task_id in ids[:100]:
        stage.commands.cancel(task_id, ACTOR)
    answer = htmx.post("/tasks/bulk/", {"action": "cancel", "ids": ",".join(ids), "confirmed": "1"})
    assert answer.status_code == 200
    assert "1,400 cancelled; 100 skipped (was cancelled)." in answer.text


async def test_bulk_without_a_script_asks_on_a_page(browser: Client, stage: Stage) -> None:
    ids = [stage.submit() for _ in range(11)]
    question = browser.post("/tasks/bulk/", {"action": "cancel", "ids": ids})
    assert "11 selected; as of now it applies to <strong>11</strong>" in question.text
    assert question.status_code == 428
    assert 'class="rail"' in question.text
    assert 'name="confirmed"' in question.text


async def test_a_purge_asks_for_the_name_with_and_without_a_script(htmx: Client, browser: Client, stage: Stage) -> None:
    task_id = stage.submit(queue="mail")
    for path in ("/queues/mail/purge/", "/dlq/purge/"):
        question = htmx.post(path, {"ask": "1"})
        assert question.status_code == 428
        assert 'name="name"' in question.text
        assert 'class="rail"' in browser.post(path, {"ask": "1"}).text
    assert stage.status(task_id) == "queued"


async def test_purges_want_the_name(htmx: Client, stage: Stage) -> None:
    task_id = stage.submit(queue="mail")
    dead = await stage.task(TaskStatus.DEAD_LETTERED)
    for path, typed in (("/queues/mail/purge/", "MAIL"), ("/dlq/purge/", ""), ("/dlq/purge/", "mail")):
        again = htmx.post(path, {"name": typed})
        assert again.status_code == 428
        assert "Nothing was purged: that is not the name." in again.text
        assert f'name="name" value="{typed}"' in again.text
    assert "Nothing was purged" not in htmx.post("/dlq/purge/", {"ask": "1"}).text
    assert stage.status(task_id) == "queued"
    assert "1 cancelled." in htmx.post("/queues/mail/purge/", {"name": "mail"}).text
    assert "1 discarded." in htmx.post("/dlq/purge/", {"name": "dead letters"}).text
    assert stage.status(dead) is None
    assert htmx.post("/queues/none/purge/", {"name": "none"}).status_code == 404


def test_a_pause_is_asked_about_before_anything_stops(htmx: Client, browser: Client, stage: Stage) -> None:
    stage.submit(queue="mail")
    question = htmx.post("/queues/mail/pause/", {"ask": "1"})
    assert question.status_code == 428
    assert 'name="reason"' in question.text
    page = browser.post("/queues/mail/pause/", {"ask": "1"}, headers={"referer": "http://testserver/queues/"})
    assert 'class="rail"' in page.text
    assert 'name="back" value="http://testserver/queues/"' in page.text
    assert "Paused by" not in browser.get("/queues/mail/").text


async def _dead(stage: Stage, **error: str) -> str:
    claimed = await stage.running()
    await stage.finish(claimed, TaskStatus.DEAD_LETTERED, **error)
    return claimed.id


async def test_a_few_letters_of_a_kind_can_be_tried_again(htmx: Client, browser: Client, stage: Stage) -> None:
    kind = {"error_class": "Refused", "error_message": "by the bank"}
    dead = [await _dead(stage, **kind) for _ in range(12)]
    other = await _dead(stage, error_class="Other")
    [fingerprint] = re.findall(r'href="/dlq/\?kind=(\w+)">Refused', browser.get("/dlq/").text)
    page = browser.get("/dlq/", {"kind": fingerprint}).text
    assert 'value="10"' in page
    assert 'value="100"' not in page
    assert "1 requeued." in htmx.post("/dlq/requeue/", {"kind": fingerprint, "count": "1"}).text
    assert [stage.status(task_id) for task_id in dead[-2:]] == ["dead_lettered", "queued"]
    assert htmx.post("/dlq/requeue/", {"kind": fingerprint, "count": "100"}).status_code == 428
    assert "10 requeued." in htmx.post("/dlq/requeue/", {"kind": fingerprint, "count": "10"}).text
    assert [stage.status(dead[0]), stage.status(other)] == ["dead_lettered", "dead_lettered"]
    assert htmx.post("/dlq/requeue/", {"kind": fingerprint, "count": "0"}).status_code == 400
    assert htmx.post("/dlq/requeue/", {"kind": "none", "count": "1"}).status_code == 404


def test_a_pause_has_its_reason_its_end_and_its_author(htmx: Client, browser: Client, stage: Stage) -> None:
    stage.submit(queue="mail")
    assert htmx.post("/queues/mail/pause/", {"reason": "provider down", "minutes": "15"}).status_code == 200
    page = browser.get("/queues/mail/").text
    assert "provider down" in page
    assert "Paused by open mode" in page
    assert htmx.post("/queues/mail/pause/", {"minutes": "7"}).status_code == 400
    assert htmx.post("/queues/mail/resume/").status_code == 200
    assert "Paused by" not in browser.get("/queues/mail/").text
    audit = browser.get("/audit/").text
    assert "provider down" in audit
    assert 'href="/queues/mail/"' in audit
    assert "resume" in audit


def test_actions_are_posts_with_a_token(configure: Configure, stage: Stage) -> None:
    task_id = stage.submit()
    strict = Client(enforce_csrf_checks=True)
    assert strict.get(f"/tasks/{task_id}/cancel/").status_code == 405
    refused = strict.post(f"/tasks/{task_id}/cancel/")
    assert refused.status_code == 403
    assert "Nothing was done" in refused.text
    assert stage.status(task_id) == "queued"
    strict.get("/tasks/")
    token = strict.cookies["dtq_csrf"].value
    assert strict.post(f"/tasks/{task_id}/cancel/", {"csrfmiddlewaretoken": token}).status_code == 302
    assert stage.status(task_id) == "cancelled"
