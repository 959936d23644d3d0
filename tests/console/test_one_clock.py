"""A web host whose clock is a year off decides nothing: ends and bounds count by Redis' clock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tasks_app import runtime

if TYPE_CHECKING:
    from django.test import Client

    from tests.support.stage import Stage

YEAR_NS = 365 * 86_400 * 10**9
HOUR_MS = 3_600_000


@pytest.fixture(params=[-YEAR_NS, YEAR_NS], ids=["slow", "fast"])
def wrong_clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    right = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: right() + request.param)


@pytest.mark.usefixtures("wrong_clock")
def test_a_pause_ends_when_it_was_asked_to(htmx: Client, stage: Stage) -> None:
    stage.submit(queue="mail")
    before = runtime.queries().now()
    assert htmx.post("/queues/mail/pause/", {"minutes": "60"}).status_code == 200
    after = runtime.queries().now()
    pause = runtime.queries().queue("mail").pause
    assert pause is not None
    assert pause.until is not None
    assert before + HOUR_MS <= pause.until <= after + HOUR_MS


@pytest.mark.usefixtures("wrong_clock")
def test_the_last_hour_of_an_operation_is_the_last_one(htmx: Client, stage: Stage) -> None:
    stage.submit()
    before = runtime.queries().now()
    assert htmx.post("/operations/cancel/", {"since": "1h", "confirmed": "1"}).status_code == 200
    after = runtime.queries().now()
    [operation] = runtime.operations().page().items
    since = operation.selection.created_after
    assert since is not None
    assert before - HOUR_MS <= since <= after - HOUR_MS
