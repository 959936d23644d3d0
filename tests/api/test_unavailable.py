"""Redis gone: 503 with Retry-After everywhere, and the readiness says why."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client

from tasks_app import runtime
from tasks_app.api.listening import may_follow
from tasks_app.domain.errors import StoreUnavailable
from tasks_app.live.outage import OutageLog
from tasks_app.store.connections import connect
from tasks_app.store.queries import Queries
from tests.api.client import Api
from tests.api.conftest import Configure
from tests.support.server import PrivateServer

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.real_redis
TASK = "0" * 32
CALLS = [
    ("GET", "tasks"),
    ("GET", f"tasks/{TASK}"),
    ("GET", f"tasks/{TASK}/result?wait=1"),
    ("POST", f"tasks/{TASK}/cancel"),
    ("POST", f"tasks/{TASK}/requeue"),
    ("POST", f"tasks/{TASK}/run-now"),
    ("GET", "dlq"),
    ("GET", "dlq/groups"),
    ("POST", f"dlq/{TASK}/discard"),
    ("POST", "dlq/purge"),
    ("GET", "queues"),
    ("GET", "queues/default"),
    ("POST", "queues/default/pause"),
    ("POST", "queues/default/resume"),
    ("POST", "queues/default/purge"),
    ("GET", "workers"),
    ("GET", "workers/w"),
    ("POST", "workers/w/quiet"),
    ("POST", "workers/w/resume"),
    ("POST", "workers/w/stop"),
    ("GET", "operations"),
    ("GET", f"operations/{TASK}"),
    ("POST", f"operations/{TASK}/abort"),
    ("GET", "audit"),
]


@pytest.fixture
def server(
    make_server: Callable[..., PrivateServer], wired: Configure, monkeypatch: pytest.MonkeyPatch
) -> PrivateServer:
    """A server of the test's own behind the API."""
    own = make_server()
    client = connect(own.url)
    monkeypatch.setattr(runtime, "client", lambda: client)
    monkeypatch.setattr(runtime.client, "cache_clear", lambda: None, raising=False)
    wired()
    return own


def test_every_url_says_503_and_when_to_come_again(server: PrivateServer) -> None:
    server.kill()
    api = Api()
    for method, path in CALLS:
        answer = api.call(method, path)
        assert (answer.status, answer.code) == (503, "REDIS_UNAVAILABLE"), path
        assert int(answer.headers["Retry-After"]) > 0
    assert api.post("tasks", {"task_type": "echo"}).code == "REDIS_UNAVAILABLE"
    assert api.post("tasks/bulk", {"tasks": [{"task_type": "echo"}]}).code == "REDIS_UNAVAILABLE"
    assert api.post("operations", {"action": "requeue", "filter": {}}).code == "REDIS_UNAVAILABLE"


def test_an_event_stream_is_refused_with_when_to_come_again(server: PrivateServer) -> None:
    server.kill()
    verdict = asyncio.run(may_follow({"headers": []}, False))
    assert (verdict.status, verdict.retry_after_s) == (503, 2)


def test_what_is_wrong_with_a_request_is_told_without_redis(server: PrivateServer) -> None:
    api = Api()
    assert api.get("queues").status == 200  # that it is open mode, only Redis could say
    server.kill()
    assert api.post("tasks", {}).status == 400
    assert api.get("tasks", {"limit": "0"}).status == 400
    assert api.get("nothing").status == 404


def test_it_works_again_by_itself(server: PrivateServer) -> None:
    api = Api()
    assert api.submit()
    server.kill()
    assert api.post("tasks", {"task_type": "echo"}).status == 503
    server.start()
    assert api.submit()


def test_out_of_memory_refuses_and_writes_nothing(server: PrivateServer) -> None:
    api = Api()
    task_id = api.submit()
    runtime.client().config_set("maxmemory", 1)
    answer = api.post("tasks", {"task_type": "echo"})
    assert (answer.status, answer.code) == (503, "REDIS_UNAVAILABLE")
    assert "memory" in answer.body["message"]
    assert ready(api)["checks"][-1]["name"] == "writable"
    runtime.client().config_set("maxmemory", 0)
    assert api.get("tasks").ids == [task_id]


def test_a_replica_refuses_writes_and_serves_reads(server: PrivateServer) -> None:
    api = Api()
    task_id = api.submit()
    runtime.client().execute_command("REPLICAOF", "127.0.0.1", "1")
    assert api.get(f"tasks/{task_id}").status == 200
    assert api.post("tasks", {"task_type": "echo"}).code == "REDIS_UNAVAILABLE"
    body = ready(api)
    assert [(check["name"], check["ok"]) for check in body["checks"]] == [("redis", True), ("writable", False)]
    assert "replica" in body["checks"][-1]["detail"]


def test_probes_and_scrapes_leave_no_error_in_the_log(server: PrivateServer, caplog: pytest.LogCaptureFixture) -> None:
    server.kill()
    with caplog.at_level("WARNING", logger="django.request"):
        for path in ("/ready", "/metrics", "/api/v1/queues"):
            assert Client().get(path).status_code == 503
    assert not [record for record in caplog.records if record.name == "django.request"]


def test_ready_tells_each_check(server: PrivateServer) -> None:
    answer = Api().call("GET", "/ready")
    assert answer.status == 200
    assert answer.body["ready"] is True
    assert [(check["name"], check["ok"]) for check in answer.body["checks"]] == [
        ("redis", True),
        ("writable", True),
        ("version", True),
        ("groups", True),
    ]
    assert runtime.client().keys("*") == []


def test_health_does_not_ask_redis(server: PrivateServer) -> None:
    server.kill()
    api = Api()
    assert (api.call("GET", "/health").status, api.call("GET", "/health").body) == (200, {"status": "ok"})
    body = ready(api)
    assert body["ready"] is False
    assert [(check["name"], check["ok"]) for check in body["checks"]] == [("redis", False)]


def ready(api: Api) -> dict[str, Any]:
    """What an unready server answers."""
    answer = api.call("GET", "/ready")
    assert answer.status == 503
    body: dict[str, Any] = answer.body
    return body


def test_a_flood_of_refusals_is_a_line_a_second(server: PrivateServer, caplog: pytest.LogCaptureFixture) -> None:
    server.kill()
    api = Api()
    for _ in range(200):
        assert api.get("queues").status == 503
    assert len(caplog.records) < 20


def test_lines_about_an_outage_count_what_they_leave_out(caplog: pytest.LogCaptureFixture) -> None:
    now = [100.0]
    outage = OutageLog(clock=lambda: now[0])
    for moment in (100.0, 100.2, 100.9, 101.1):
        now[0] = moment
        outage.refused("/api/v1/tasks", StoreUnavailable("Redis cannot be reached"))
    told: list[Any] = [record.msg for record in caplog.records]
    assert [(line["event"], line["refused"]) for line in told] == [("REDIS_UNAVAILABLE", 1), ("REDIS_UNAVAILABLE", 3)]
    assert told[0]["error"] == "Redis cannot be reached"


@pytest.mark.parametrize(("version", "fits"), [("6.0.16", False), ("5.9", False), ("6.2.0", True), ("9.1.2", True)])
def test_an_old_server_is_not_ready(
    server: PrivateServer, monkeypatch: pytest.MonkeyPatch, version: str, fits: bool
) -> None:
    found = replace(runtime.queries().server(), version=version)
    monkeypatch.setattr(Queries, "server", lambda self: found)
    check = Api().call("GET", "/ready").body["checks"][2]
    assert (check["name"], check["ok"]) == ("version", fits)
    assert version in check["detail"]
