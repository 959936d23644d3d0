"""Three planted secrets: the password in Redis' address, a value in a payload and the API key.

The real processes run at DEBUG through failures of every kind; then none of the three may be found in anything that
they logged, served, published or showed to others of the same machine.
"""

from __future__ import annotations

import json
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tasks_app.domain.status import TaskStatus
from tasks_app.store.connections import connect
from tests.hostile.tasks import EXPLOSIVE_ID
from tests.hostile.visitor import Visitor
from tests.process.fleet import Fleet, Process
from tests.support.server import PrivateServer
from tests.support.until import until

PASSWORD = "s3cr3tPW!of/redis"
QUOTED_PASSWORD = "s3cr3tPW!of%2Fredis"
IN_PAYLOAD = 'hunter2xyz"of\\payload'
API_KEY = "k3y-of-the-api-0123456789"
SECRETS = {
    "password": ("s3cr3tPW",),
    "payload": ("hunter2xyz",),
    "key": (API_KEY,),
}
PAYLOAD = {"user": "bob", "password": IN_PAYLOAD, "nested": [{"api_key": IN_PAYLOAD}]}
CONSOLE_PAGES = ("/", "/tasks/", "/dlq/", "/queues/", "/queues/default/", "/workers/", "/audit/", "/system/")
OPERATOR = {"DJANGO_SUPERUSER_USERNAME": "op", "DJANGO_SUPERUSER_PASSWORD": "a-Long-one-4711"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def guarded(
    make_server: Callable[..., PrivateServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[PrivateServer, Fleet]]:
    """A server that wants a password, and processes that know it."""
    for name, value in OPERATOR.items():
        monkeypatch.setenv(name, value)
    server = make_server(aof=True)
    port = free_port()
    admin = connect(server.url)
    admin.config_set("requirepass", PASSWORD)
    admin.config_set("port", port)
    admin.close()
    fleet = Fleet(f"redis://:{QUOTED_PASSWORD}@127.0.0.1:{port}/0", tmp_path)
    yield server, fleet
    fleet.close()


def found_in(text: str) -> list[str]:
    return [name for name, spellings in SECRETS.items() if any(spelling in text for spelling in spellings)]


def command_lines() -> Iterator[str]:
    """What every process of the machine calls itself, as any user can read it."""
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            for name in ("cmdline", "comm", "status"):
                try:
                    yield (process / name).read_bytes().decode(errors="replace")
                except OSError:
                    break  # it has ended


def listen(fleet: Fleet, heard: list[str], stop: threading.Event) -> None:
    pubsub = fleet.client.pubsub()
    pubsub.psubscribe("dtq:*")
    while not stop.is_set():
        message = pubsub.get_message(timeout=0.1)
        if message is not None:
            heard.append(str(message))
    pubsub.close()


def stream(port: int, heard: list[bytes]) -> None:
    """The API's event stream, until its server ends."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        request = f"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {API_KEY}\r\n\r\n"
        connection.sendall(request.encode())
        while chunk := connection.recv(65536):
            heard.append(chunk)


@pytest.mark.real_redis
@pytest.mark.timeout(200)
def test_no_planted_secret_is_found_anywhere(guarded: tuple[PrivateServer, Fleet]) -> None:
    server, fleet = guarded
    settings = {
        "API_KEY": API_KEY,
        "LOG_LEVEL": "DEBUG",
        "TASK_MODULES": "tests.hostile.tasks",
        "TEST_SECRET": IN_PAYLOAD,
        "DJANGO_ALLOWED_HOSTS": "127.0.0.1,localhost",
    }
    assert fleet.start("migrate", **settings).wait(60) == 0
    user = fleet.start("createsuperuser", "--no-input", "--email", "op@example.org", **settings)
    port = free_port()
    fleet.start("runweb", "--port", str(port), **settings)
    worker = fleet.start("runworker", "--no-scheduler", **settings, LOG_JSON="true")
    until(lambda: fleet.shows(worker), timeout=30, what="the worker")
    fleet.start("runscheduler", **settings)
    visitor = Visitor(f"http://127.0.0.1:{port}", **{"X-API-Key": API_KEY})
    until(lambda: _answers(visitor), timeout=40, what="the site")
    assert user.wait(60) == 0, user.text

    heard: list[str] = []
    streamed: list[bytes] = []
    stop = threading.Event()
    listeners = [
        threading.Thread(target=listen, args=(fleet, heard, stop)),
        threading.Thread(target=stream, args=(port, streamed), daemon=True),
    ]
    for listener in listeners:
        listener.start()

    # --- tasks that tell, fail and crash
    ids = [
        fleet.submit("blab", json.dumps(PAYLOAD), max_attempts=1),
        fleet.submit("blab", json.dumps(PAYLOAD | {"fine": True})),
        fleet.submit("no_such_type", json.dumps(PAYLOAD), max_attempts=1),
    ]
    own = visitor.submit({"task_type": "blab", "payload": PAYLOAD, "max_attempts": 1})
    assert own.status == 202, own.text
    ends = (TaskStatus.DEAD_LETTERED, TaskStatus.SUCCEEDED, TaskStatus.DEAD_LETTERED)
    for task_id, end in zip(ids, ends, strict=True):
        fleet.wait_for([task_id], end, timeout=40)
    crash = fleet.submit("crash", json.dumps(PAYLOAD), max_attempts=1)
    until(lambda: not worker.alive, timeout=40, what="the crash")
    fleet.start("runworker", **settings)
    fleet.wait_for([crash], TaskStatus.DEAD_LETTERED, timeout=40)

    # --- requests that are refused, and errors of ours
    before_refusals = len(visitor.seen)
    for status, page in (
        (401, visitor.submit({"task_type": "echo", "payload": PAYLOAD}, **{"X-API-Key": f"{API_KEY}x"})),
        (400, visitor.submit({"task_type": "echo", "payload": PAYLOAD, "priority": IN_PAYLOAD})),
        (400, visitor.submit({"task_type": IN_PAYLOAD, "payload": [IN_PAYLOAD]})),
        (413, visitor.submit({"task_type": "echo", "payload": PAYLOAD | {"more": "x" * 300_000}})),
        (400, visitor.post("/api/v1/tasks", f'{{"password": "{IN_PAYLOAD}'.encode(), **_JSON)),
        (500, visitor.get(f"/api/v1/tasks/{EXPLOSIVE_ID}")),
        (404, visitor.get("/api/v1/nothing")),
        (404, visitor.get("/nothing")),
        (401, visitor.get("/api/v1/tasks", **{"X-API-Key": ""})),
        (200, visitor.get("/health")),
        (200, visitor.get("/ready")),
        (200, visitor.get("/metrics")),
        (200, visitor.get("/api/schema/")),
        (200, visitor.get("/api/docs/")),
    ):
        assert page.status == status, page.text[:500]

    # --- the console
    visitor.log_in(OPERATOR["DJANGO_SUPERUSER_USERNAME"], OPERATOR["DJANGO_SUPERUSER_PASSWORD"])
    shown = [path for task_id in ids for path in (f"/tasks/{task_id}/", f"/tasks/{task_id}.json")]
    texts = [f"/tasks/{ids[1]}/text/{name}" for name in ("payload", "metadata", "result")]
    for path in (*CONSOLE_PAGES, *shown, *texts):
        page = visitor.get(path)
        assert page.status == 200, path
    assert "***" in visitor.get(f"/tasks/{ids[0]}/").text
    assert visitor.get(f"/tasks/{EXPLOSIVE_ID}/").status == 500
    titles = [*command_lines()]

    # --- Redis in trouble
    refused = _commands_at_wrong_addresses(fleet, settings)
    stop.set()
    listeners[0].join()
    assert any("dead_lettered" in text for text in heard)
    server.kill()
    until(lambda: visitor.get("/ready").status == 503, timeout=30, what="an outage")
    assert visitor.submit({"task_type": "echo", "payload": PAYLOAD}).status == 503
    assert visitor.get("/tasks/").status == 503
    until(lambda: any("REDIS_UNAVAILABLE" in process.text for process in fleet.processes), timeout=30)
    for process in (process for process in fleet.processes if process.alive):
        process.send(signal.SIGTERM)
    for process in fleet.processes:
        process.wait(60)

    # --- the search
    places = {f"log {number}": process.text for number, process in enumerate([*fleet.processes, *refused])}
    places |= {f"page {number} {what}": f"{page.headers}\n{page.text}" for number, (what, page) in _pages(visitor)}
    places |= {"pub/sub": "\n".join(heard), "event stream": b"".join(streamed).decode(errors="replace")}
    places["process titles"] = "\n".join(titles)
    assert before_refusals < len(visitor.seen)
    assert len(places) > 40
    for name in ("shop", "working on", "cannot log in", "REQUEST_FAILED"):
        assert any(name in text for place, text in places.items() if place.startswith("log")), name
    assert {place: found for place, text in places.items() if (found := found_in(text))} == {}


_JSON = {"Content-Type": "application/json"}


def _commands_at_wrong_addresses(fleet: Fleet, settings: dict[str, str]) -> list[Process]:
    """Processes whose address is wrong in one way or another; those that cannot start at all have ended."""
    port = free_port()
    broken = [
        f"redis://:{PASSWORD}@127.0.0.1:6379/0",
        f"http://:{QUOTED_PASSWORD}@127.0.0.1:6379/0",
        f"redis://:{QUOTED_PASSWORD}@127.0.0.1:{QUOTED_PASSWORD}/0",
        f"redis://127.0.0.1:6379/{QUOTED_PASSWORD}",
        QUOTED_PASSWORD,
    ]
    ended = [fleet.start("runworker", **settings | {"REDIS_URL": url}) for url in broken]
    ended.append(fleet.start("check", **settings | {"REDIS_URL": f"redis://:{QUOTED_PASSWORD}@127.0.0.1:{port}/0"}))
    wrong_password = fleet.url.replace(QUOTED_PASSWORD, f"{QUOTED_PASSWORD}x")
    ended.append(fleet.start("check", **settings | {"REDIS_URL": wrong_password}))
    for process in ended:
        process.wait(60)
        assert process.text
    nobody = fleet.start("runworker", **settings | {"REDIS_URL": f"redis://:{QUOTED_PASSWORD}@127.0.0.1:{port}/0"})
    until(lambda: "REDIS_UNAVAILABLE" in nobody.text, timeout=40, what="a worker without a server")
    return ended


def _answers(visitor: Visitor) -> bool:
    try:
        return visitor.get("/health").status == 200
    except OSError:
        return False


def _pages(visitor: Visitor) -> Iterator[tuple[int, tuple[str, Any]]]:
    """Everything but the API's answers about tasks: whoever may ask for a payload there gets it as it is."""
    for number, (what, page) in enumerate(visitor.seen):
        if not (what.startswith("POST /api/v1/tasks") and page.status == 202):
            yield number, (what, page)
