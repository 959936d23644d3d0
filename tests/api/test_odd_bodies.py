"""Bodies that no sane client sends: refused with the reason, never answered 500, nothing stored."""

from __future__ import annotations

import io
import json
import time

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.test import RequestFactory

from tests.api.client import Api

MALFORMED = {
    "empty": b"",
    "cut off": b"{",
    "two values": b"{} {}",
    "duplicate key": b'{"task_type":"echo","task_type":"noop"}',
    "duplicate key inside": b'{"task_type":"echo","payload":{"a":1,"a":2}}',
    "NaN": b'{"task_type":"echo","payload":{"a":NaN}}',
    "Infinity": b'{"task_type":"echo","payload":{"a":-Infinity}}',
    "out of range": b'{"task_type":"echo","payload":{"a":1e999}}',
    "endless number": b'{"task_type":"echo","payload":{"a":' + b"9" * 5000 + b"}}",
    "lone surrogate": b'{"task_type":"echo","payload":{"a":"\\ud800"}}',
    "NUL in a name": b'{"task_type":"echo","payload":{"\\u0000":1}}',
    "not UTF-8": b'{"task_type":"\xff"}',
    "UTF-16": '{"task_type":"echo"}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"task_type":"echo"}',
    "array": b"[]",
    "array of objects": b"[{}]",
    "text": b'"x"',
    "null": b"null",
    "number": b"1",
    "deep arrays": b"[" * 100_000,
    "deep objects": b'{"task_type":"echo","payload":' + b'{"a":' * 100_000,
    "101 levels": b'{"task_type":"echo","payload":{"a":' + b"[" * 99 + b"]" * 99 + b"}}",
}


@pytest.mark.parametrize("path", ["tasks", "tasks/bulk", "queues/default/pause"])
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_body_is_refused(api: Api, path: str, name: str) -> None:
    if path == "queues/default/pause":
        if name == "empty":
            return
        api.submit(queue="default")
    api.get("nothing")  # so that what the first request of all costs is not counted
    started = time.thread_time()
    answer = api.send(path, MALFORMED[name])
    took = time.thread_time() - started
    assert (answer.status, answer.code) == (400, "VALIDATION_ERROR")
    assert answer.fields
    assert took < 0.1
    if path != "queues/default/pause":
        assert api.get("tasks").ids == []


def test_a_hundred_levels_are_fine(api: Api) -> None:
    raw = b'{"task_type":"echo","payload":{"a":' + b"[" * 98 + b"]" * 98 + b"}}"
    assert api.send("tasks", raw).status == 202


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "multipart/form-data; boundary=x",
        "application/xml",
        "application/json; charset=foo",
        "application/json; charset=latin-1",
        'application/json; charset="',
        "json",
        "application/json;;;=",
        "/",
    ],
)
def test_another_kind_of_body_is_refused(api: Api, content_type: str) -> None:
    answer = api.send("tasks", b'{"task_type":"echo"}', content_type)
    if content_type == "application/json;;;=":
        assert answer.status == 202
        return
    assert (answer.status, answer.code) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert api.get("tasks").ids == []


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", 'application/json;charset="UTF-8"', "Application/JSON"],
)
def test_json_in_utf_8_is_taken(api: Api, content_type: str) -> None:
    assert api.send("tasks", '{"task_type":"echo","payload":{"a":"漢"}}'.encode(), content_type).status == 202


@pytest.mark.parametrize("path", ["tasks", "tasks/bulk"])
def test_a_huge_body_is_refused_unread(api: Api, path: str) -> None:
    answer = api.send(path, b" " * 11_000_000)
    assert (answer.status, answer.code) == (413, "PAYLOAD_TOO_LARGE")
    assert answer.body["details"]["limit_bytes"] < 11_000_000


def test_a_body_without_its_length_is_refused_and_not_read_as_empty(api: Api) -> None:
    answer = api.call("POST", "tasks", transfer_encoding="chunked")
    assert (answer.status, answer.code) == (411, "LENGTH_REQUIRED")


@pytest.mark.django_db  # the handler looks after the connections that tests before this one have opened
def test_a_body_that_ends_early_is_refused(api: Api) -> None:
    environ = RequestFactory().generic("POST", "/api/v1/tasks", b"{}", content_type="application/json").environ
    environ |= {"CONTENT_LENGTH": "500", "wsgi.input": io.BytesIO(b'{"task_type":"echo"}')}
    response = WSGIHandler()(environ, lambda status, headers, error=None: io.BytesIO().write)
    assert json.loads(b"".join(response))["code"] == "BAD_REQUEST"
    assert api.get("tasks").ids == []


def test_long_headers_do_no_harm(api: Api) -> None:
    assert api.get("tasks", x_big="a" * 100_000).status == 200
