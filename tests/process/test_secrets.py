"""The server's password, the API key and what payloads hold: never where somebody reads along."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psutil

from tasks_app.domain.status import TaskStatus
from tests.browser.site import Site
from tests.process.fleet import Fleet
from tests.support.server import PrivateServer
from tests.support.until import until

PASSWORD, IN_PAYLOAD, API_KEY, WRONG_KEY = "s3cr3tPW", "hunter2xyz", "key-Zq81-known", "key-Zq81-guess"
SECRETS = (PASSWORD, IN_PAYLOAD, API_KEY, WRONG_KEY)
PAYLOAD = {"password": IN_PAYLOAD, "what": "SystemExit", "how": "exit"}


def call(url: str, key: str, body: object = None) -> tuple[int, str]:
    """Status and text of the answer."""
    sent = None if body is None else json.dumps(body).encode()
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, sent, headers), timeout=10) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def test_no_secret_shows_in_logs_events_titles_or_health(
    make_server: Callable[..., PrivateServer], fleet_on: Callable[[PrivateServer], Fleet], tmp_path: Path
) -> None:
    server = make_server()
    url = server.url.replace("unix://", f"unix://:{PASSWORD}@")
    fleet = fleet_on(server)  # its own connection was there before the password
    events = fleet.client.pubsub()
    events.subscribe("dtq:events")
    assert events.get_message(timeout=5) is not None
    fleet.client.config_set("requirepass", PASSWORD)
    settings = {"REDIS_URL": url, "API_KEY": API_KEY, "LOG_LEVEL": "DEBUG"}
    parent = fleet.start("runworker", "--processes", "2", "--concurrency", "2", **settings)
    site = Site(url, tmp_path, api_key=API_KEY, log_level="DEBUG")
    site.start()
    for task_type in ("raise_it", "end_process", "ledger"):
        body = {"task_type": task_type, "payload": PAYLOAD, "max_attempts": 1 if task_type == "end_process" else 5}
        assert call(f"{site.origin}/api/v1/tasks", API_KEY, body)[0] == 202
    assert call(f"{site.origin}/api/v1/tasks", WRONG_KEY, {"task_type": "ledger", "payload": PAYLOAD})[0] == 401
    assert (
        call(f"{site.origin}/api/v1/tasks", API_KEY, {"task_type": "ledger", "payload": 7, "pass": IN_PAYLOAD})[0]
        == 400
    )
    until(lambda: fleet.queries.counts()[TaskStatus.DEAD_LETTERED] == 2, timeout=20, what="two have failed")
    until(lambda: fleet.queries.counts()[TaskStatus.SUCCEEDED] == 1, what="one has run")

    titles = [" ".join(p.cmdline()) for p in psutil.Process(parent.pid).children(recursive=True)]
    health = [call(f"{site.origin}/{path}", API_KEY)[1] for path in ("health", "ready")]
    nowhere = fleet.start("runworker", **settings | {"REDIS_URL": f"redis://:{PASSWORD}@127.0.0.1:1/0"})
    until(lambda: "REDIS_UNAVAILABLE" in nowhere.text, timeout=20, what="a line that says so")
    nonsense = fleet.start("runworker", **settings | {"REDIS_URL": f"nonsense://:{PASSWORD}@127.0.0.1/0"})
    assert nonsense.wait() != 0
    site.stop()
    told = []
    while (message := events.get_message(timeout=0.1)) is not None:
        told.append(message["data"].decode())
    assert len(titles) >= 2 and len(told) > 5 and "TASK" in parent.text + site.log()
    texts = [parent.text, nowhere.text, nonsense.text, site.log(), *titles, *health, *told]
    assert [secret for secret in SECRETS if any(secret in text for text in texts)] == []
