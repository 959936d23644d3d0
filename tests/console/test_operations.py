"""All that match, not only the ticked ones: asked with the exact number, begun once, followed and aborted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from django.test import Client

from tasks_app import runtime
from tasks_app.domain.operation import Operation
from tasks_app.domain.status import TaskStatus
from tests.support.stage import TOKEN, WORKER, Stage

if TYPE_CHECKING:
    from tests.console.conftest import Configure

DEAD = {"status": "dead_lettered"}


async def dead(stage: Stage, count: int, **overrides: object) -> list[str]:
    return [await stage.task(TaskStatus.DEAD_LETTERED, **overrides) for _ in range(count)]


def only() -> Operation:
    [operation] = runtime.operations().page().items
    return operation


async def test_the_list_offers_all_that_match_and_the_question_says_how_many(htmx: Client, stage: Stage) -> None:
    await dead(stage, 30, queue="mail")
    await dead(stage, 2, queue="sms")
    page = htmx.get("/tasks/", {**DEAD, "queue": "mail"}).text
    assert "25 on this page of 30" in page
    assert "All 30 matching" in page
    question = htmx.post("/operations/requeue/", {**DEAD, "queue": "mail"})
    assert question.status_code == 428
    assert "Requeue all 30 tasks?" in question.text
    assert re.search(r"<dt>Queue</dt><dd>mail</dd>", question.text)
    assert runtime.operations().page().items == []
    began = htmx.post("/operations/requeue/", {**DEAD, "queue": "mail", "confirmed": "1"})
    assert began["HX-Redirect"] == "/operations/"
    assert runtime.operations().run_for(10) is False
    assert (only().done, only().looked) == (30, 30)
    text = htmx.get("/operations/").text
    assert "30 done; 30 of 30 looked at" in text
    assert "finished" in text


async def test_the_audit_leads_to_the_page_of_an_operation(htmx: Client, stage: Stage) -> None:
    await dead(stage, 2, queue="mail")
    for queue in ("mail", "sms"):
        assert htmx.post("/operations/requeue/", {**DEAD, "queue": queue, "confirmed": "1"}).status_code == 200
    runtime.operations().run_for(10)
    wanted = next(found for found in runtime.operations().page().items if found.selection.queue == "mail")
    address = f"/operations/{wanted.id}/"
    assert htmx.get("/audit/").text.count(f'href="{address}"') == 2, "its beginning and its end"
    for asked in (address, f"{address}?fragment=operations"):
        text = htmx.get(asked).text
        assert "2 done; 2 of 2 looked at" in text
        assert "queue mail" in text
        assert "queue sms" not in text
    assert htmx.get(f"/operations/{'0' * 32}/").status_code == 404


async def test_pressing_again_begins_nothing(htmx: Client, stage: Stage) -> None:
    await dead(stage, 2)
    form = {**DEAD, "confirmed": "1"}
    assert htmx.post("/operations/requeue/", form).status_code == 200
    again = htmx.post("/operations/requeue/", form)
    assert again.status_code == 409
    assert "runs already" in again.text
    assert only().runs


async def test_without_a_scheduler_the_page_says_so(browser: Client, stage: Stage) -> None:
    await dead(stage, 1)
    began = browser.post("/operations/requeue/", {**DEAD, "confirmed": "1"})
    assert (began.status_code, began["Location"]) == (302, "/operations/")
    assert "Waiting for a scheduler" in browser.get("/operations/").text
    await stage.schedule.lead(WORKER, TOKEN)
    assert "Waiting for a scheduler" not in browser.get("/operations/").text


async def test_a_kind_of_dead_letters_is_a_filter(htmx: Client, stage: Stage) -> None:
    await dead(stage, 2, task_type="noop")
    other = await stage.task(TaskStatus.DEAD_LETTERED, task_type="echo")
    kind = stage.record(other)["fingerprint"]
    assert "All 1 matching" in htmx.get("/dlq/", {"kind": kind}).text
    assert "Discard all 1 task?" in htmx.post("/operations/discard/", {**DEAD, "kind": kind}).text
    htmx.post("/operations/discard/", {**DEAD, "kind": kind, "confirmed": "1"})
    runtime.operations().run_for(10)
    assert (only().done, stage.status(other)) == (1, None)


async def test_what_no_index_counts_is_said_to_be_looked_for(htmx: Client, stage: Stage) -> None:
    await dead(stage, 1, queue="mail", task_type="noop")
    await dead(stage, 2, queue="mail", task_type="echo")
    form = {**DEAD, "queue": "mail", "type": "noop"}
    assert "Every match" in htmx.get("/tasks/", form).text
    question = htmx.post("/operations/requeue/", form).text
    assert "up to <strong>3</strong> tasks will be looked at" in question
    htmx.post("/operations/requeue/", {**form, "confirmed": "1"})
    runtime.operations().run_for(10)
    assert (only().done, only().looked) == (1, 3)


async def test_a_careful_one_is_offered_where_tasks_run_again_and_says_what_it_waits_for(
    htmx: Client, stage: Stage
) -> None:
    await dead(stage, 3)
    assert "careful" not in htmx.post("/operations/discard/", DEAD).text
    question = htmx.post("/operations/requeue/", DEAD).text
    assert "Carefully: 1, then 10, then 100, then the rest" in question
    assert "more than 20% fail again" in question
    htmx.post("/operations/requeue/", {**DEAD, "confirmed": "1", "careful": "1"})
    await stage.schedule.lead(WORKER, TOKEN)
    assert "carefully" in htmx.get("/operations/").text
    runtime.operations().run_for(10)
    text = htmx.get("/operations/").text
    assert "trying" in text
    assert "waits for the one it tried" in text
    [task] = (await stage.claim()).tasks
    await stage.finish(task, TaskStatus.DEAD_LETTERED)
    runtime.operations().run_for(10)
    text = htmx.get("/operations/").text
    assert "stopped" in text
    assert "the one it tried failed again" in text
    assert "operation-stop" in htmx.get("/audit/").text


async def test_aborting(htmx: Client, stage: Stage) -> None:
    await dead(stage, 1)
    htmx.post("/operations/requeue/", {**DEAD, "confirmed": "1"})
    assert htmx.post(f"/operations/{only().id}/abort/").status_code == 200
    assert htmx.post(f"/operations/{only().id}/abort/").status_code == 409
    assert htmx.post("/operations/none/abort/").status_code == 404
    assert "aborted" in htmx.get("/operations/").text


@pytest.mark.parametrize("form", [{"status": "queued"}, {"status": "x"}, {"q": "abc"}])
def test_what_makes_no_sense_is_refused(htmx: Client, form: dict[str, str]) -> None:
    assert htmx.post("/operations/requeue/", form).status_code == 400


async def test_skips_and_failures_are_said_in_words(htmx: Client, stage: Stage, configure: Configure) -> None:
    gone, moved = await dead(stage, 2)
    await dead(stage, 1, idempotency_key="order-7")
    stage.client.delete(stage.keys.idempotency("default", "order-7"))  # it has run out
    stage.submit(idempotency_key="order-7")
    operations = runtime.operations()
    htmx.post("/operations/requeue/", {**DEAD, "confirmed": "1"})
    operation = only()
    real = operations._following
    operations._following = lambda *args: _after(real(*args), stage, gone, moved)  # type: ignore[method-assign]
    operations.step(operation)
    text = htmx.get("/operations/").text
    assert "1 gone" in text
    assert "1 found queued" in text
    assert "failed: 1 key in use by another task" in text


def _after(members: list[bytes], stage: Stage, gone: str, moved: str) -> list[bytes]:
    from tests.support.builders import ACTOR

    stage.commands.discard(gone, ACTOR)
    stage.commands.dlq_requeue(moved, ACTOR)
    return members
