"""Pages asked for while Redis is away are lines of warning, counted, and no errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client

from tasks_app import runtime
from tasks_app.store.connections import connect
from tests.console.conftest import Configure

if TYPE_CHECKING:
    from tests.support.server import PrivateServer

pytestmark = pytest.mark.real_redis


def test_pages_without_redis_log_few_warnings_and_no_error(
    make_server: Callable[..., PrivateServer],
    configure: Configure,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = make_server()
    client = connect(server.url)
    monkeypatch.setattr(runtime, "client", lambda: client)
    monkeypatch.setattr(runtime.client, "cache_clear", lambda: None, raising=False)
    configure()
    server.kill()
    browser = Client()
    assert {browser.get(path).status_code for path in ["/", "/tasks/", "/queues/"] * 20} == {503}
    told: list[Any] = [record.msg for record in caplog.records]
    assert {line["event"] for line in told} == {"REDIS_UNAVAILABLE"}
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert len(told) < 20
