"""The OpenAPI document: complete, with an example for each answer, and true.

That it is true is also checked on the side by every other test here: their client holds each answer against it.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tasks_app.api.errors import HTTP_STATUS
from tasks_app.api.examples import PROBLEMS
from tasks_app.api.urls import urlpatterns
from tasks_app.domain.submission import FIELDS, MAX_DELAY_S
from tests.api.client import Api
from tests.api.document import Document, document


@pytest.fixture
def doc() -> Document:
    return document()


def test_every_url_is_described(doc: Document) -> None:
    described = {path.removeprefix("/api/v1/").replace("{", "<str:").replace("}", ">") for path in doc.schema["paths"]}
    served = {str(entry.pattern) for entry in urlpatterns} - {""} | {"events"}
    assert described == served


def test_every_answer_has_an_example_that_fits(doc: Document) -> None:
    count = 0
    for promise in doc.promises():
        examples = promise.content.get("examples", {})
        assert examples, promise
        for example in examples.values():
            assert doc.complaints(promise.content["schema"], example["value"]) == [], promise
            count += 1
    assert count > 150


def test_every_body_has_an_example_that_fits(doc: Document) -> None:
    bodies = dict(doc.requests())
    assert set(bodies) == {"submitTask", "submitTasks", "pauseQueue", "beginOperation"}
    for name, content in bodies.items():
        for example in content["examples"].values():
            complaints = doc.complaints(content["schema"], example["value"])
            if name == "submitTasks":  # its second task is bad on purpose
                complaints = [complaint for complaint in complaints if not complaint.startswith("tasks/1/priority")]
            assert complaints == []


def test_every_refusal_shows_the_codes_it_can_have(doc: Document) -> None:
    seen = set()
    for promise in doc.promises():
        if promise.status >= 400:
            codes = {example["value"]["code"] for example in promise.content["examples"].values()}
            assert {HTTP_STATUS[code] for code in codes} == {promise.status}
            seen |= codes
    assert seen | {"METHOD_NOT_ALLOWED"} == set(PROBLEMS)
    assert set(HTTP_STATUS) == set(PROBLEMS)


def test_every_operation_says_which_scope_it_asks_for(doc: Document) -> None:
    asked = {}
    for path, item in doc.schema["paths"].items():
        for method, operation in item.items():
            [scope] = operation["security"][0]["ApiKey"]
            assert f"scope `{scope}`" in operation["description"]
            assert {"401", "403", "429"} <= set(operation["responses"])
            asked[method.upper(), path.removeprefix("/api/v1/")] = scope
    assert {key for key, scope in asked.items() if scope == "submit"} == {("POST", "tasks"), ("POST", "tasks/bulk")}
    assert {method for (method, _), scope in asked.items() if scope == "read"} == {"GET"}
    assert {method for (method, _), scope in asked.items() if scope == "operate"} == {"POST"}


def test_waiting_times_and_places_are_announced(doc: Document) -> None:
    for promise in doc.promises():
        headers = set(promise.response.get("headers", {}))
        expected = set()
        if promise.status in {429, 503} or (promise.operation_id, promise.status) == ("taskResult", 202):
            expected = {"Retry-After"}
        if promise.operation_id in {"submitTask", "beginOperation"} and promise.status in {200, 202}:
            expected = {"Location"}
        assert headers == expected, promise


def test_the_submission_is_described_as_it_is_checked(doc: Document, api: Api) -> None:
    properties: dict[str, Any] = doc.schema["components"]["schemas"]["SubmissionRequest"]["properties"]
    assert set(properties) == FIELDS
    assert properties["delay_seconds"]["maximum"] == MAX_DELAY_S
    for name, schema in properties.items():
        for bound, step in (("minimum", -1), ("maximum", 1)):
            if bound in schema:
                answer = api.post("tasks", {"task_type": "echo", name: schema[bound] + step})
                assert (answer.status, list(answer.fields)) == (400, [name])
                assert api.post("tasks", {"task_type": "echo", name: schema[bound]}).status == 202


@pytest.mark.parametrize("url", ["/api/schema/", "/api/docs/"])
def test_document_and_pages_are_served(url: str, api: Api) -> None:
    assert Client().get(url).status_code == 200
