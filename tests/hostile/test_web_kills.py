"""Web processes killed and connections cut while tasks come in: what was accepted is there, nothing is half there."""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tasks_app.domain.status import TaskStatus
from tasks_app.store.keys import Keys
from tests.support import invariants
from tests.support.until import until

if TYPE_CHECKING:
    import redis

    from tasks_app.store.queries import Queries
    from tests.browser.site import Site

POSTS = 1000
SENDERS = 8
KILLS = 8
PROCESSES = 3


class Load:
    """``POSTS`` submissions from several threads; each is answered, refused or cut off."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._lock = threading.Lock()
        self.accepted: list[str] = []
        self.cut_off = 0
        self.other: list[int] = []

    @property
    def done(self) -> int:
        return len(self.accepted) + self.cut_off + len(self.other)

    def has_done(self, number: int) -> bool:
        return self.done >= number

    def send(self, number: int) -> None:
        body = json.dumps({"task_type": "echo", "queue": f"q{number % 7}", "priority": number % 10})
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request("POST", "/api/v1/tasks", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            with self._lock:
                self.cut_off += 1
            return
        finally:
            connection.close()
        with self._lock:
            if answer.status == 202:
                self.accepted.append(json.loads(text)["id"])
            else:
                self.other.append(answer.status)


def web_processes(site: Site) -> list[psutil.Process]:
    found = []
    for child in psutil.Process(site.pid).children(recursive=True):
        try:
            if "--fd" in child.cmdline():
                found.append(child)
        except psutil.NoSuchProcess:
            pass  # killed a moment ago
    return found


@pytest.mark.real_redis
@pytest.mark.timeout(180)
def test_killed_web_processes_leave_no_half_of_a_task(
    make_site: Callable[..., Site], redis_client: redis.Redis, queries: Queries
) -> None:
    site = make_site(processes=PROCESSES)
    until(lambda: len(web_processes(site)) == PROCESSES, what="all web processes")
    load = Load(site.port)
    with ThreadPoolExecutor(SENDERS) as senders:
        sent = [senders.submit(load.send, number) for number in range(POSTS)]
        for kill in range(1, KILLS + 1):
            until(partial(load.has_done, kill * POSTS // (KILLS + 1)), timeout=60, what="some answers")
            if kill % 2:
                os.kill(until(lambda: web_processes(site), what="a web process")[0].pid, signal.SIGKILL)
            else:
                redis_client.client_kill_filter(_type="normal", skipme=True)
    for future in sent:
        future.result()
    assert load.done == POSTS
    assert len(load.accepted) > POSTS / 2
    assert set(load.other) <= {503}
    invariants.check(redis_client, Keys("dtq"))
    keys: list[Any] = redis_client.keys("dtq:task:*")
    stored = {key.decode().rpartition(":")[2] for key in keys}
    assert set(load.accepted) <= stored
    assert len(stored) <= len(load.accepted) + load.cut_off + len(load.other)
    assert {queries.task(task_id).status for task_id in load.accepted} == {TaskStatus.QUEUED}
