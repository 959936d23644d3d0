"""Web processes that die, and connections that are cut, under submissions; and what many requests leave open."""

from __future__ import annotations

import http.client
import json
import signal
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from tasks_app.store.keys import Keys
from tests.browser.site import Site
from tests.support import invariants
from tests.support.keyspace import RawClient
from tests.support.until import until

CLIENTS = 4
ACCEPTED = 1000


class Submitters:
    """Clients that post tasks, one request after the other, until they are stopped."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._post) for _ in range(CLIENTS)]
        self.accepted: list[str] = []
        self.refused = 0

    def start(self) -> None:
        """Post until ``stop``."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let the last answers come in."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def have(self, number: int) -> bool:
        """So many were accepted."""
        return len(self.accepted) >= number

    def _post(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        body = json.dumps({"task_type": "noop", "payload": {"n": [1, 2, 3]}})
        while not self._stop.is_set():
            try:
                connection.request("POST", "/api/v1/tasks", body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                text = answer.read()
            except (http.client.HTTPException, OSError):
                connection.close()
                self.refused += 1
                continue
            if answer.status == 202:
                self.accepted.append(json.loads(text)["id"])
            else:
                assert answer.status == 503, text
                self.refused += 1
        connection.close()


@pytest.fixture
def site(redis_url: str, tmp_path: Path) -> Iterator[Site]:
    site = Site(redis_url, tmp_path, max_queue_depth="100000")
    yield site
    site.stop()


def test_what_was_accepted_is_whole_and_nothing_else_is_there_by_halves(site: Site, redis_client: RawClient) -> None:
    web = site.spawn("runweb", "--port", str(site.port), "--processes", "2")
    try:
        until(lambda: len(psutil.Process(web.pid).children()) == 2, timeout=30, what="two web processes")
        submitters = Submitters(site.port)
        submitters.start()
        try:
            for step in range(1, 6):
                until(partial(submitters.have, step * ACCEPTED // 6), timeout=30, what="more accepted")
                if step % 2:
                    psutil.Process(web.pid).children()[0].kill()
                else:
                    redis_client.client_kill_filter(_type="normal", skipme=True)
            until(partial(submitters.have, ACCEPTED), timeout=30, what="all accepted")
        finally:
            submitters.stop()
    finally:
        web.send_signal(signal.SIGTERM)
        web.wait(timeout=30)
    assert submitters.refused > 0
    keys = Keys("dtq")
    invariants.check(redis_client, keys)  # each queued record has one entry, each entry its record, each index both
    queued = {member.decode() for member in redis_client.zrange(keys.index("queued"), 0, -1)}
    assert set(submitters.accepted) <= queued
    assert len(queued) - len(submitters.accepted) <= submitters.refused


def test_requests_leave_no_connections_open(site: Site, redis_client: RawClient) -> None:
    site.start()

    def ask(times: int) -> None:
        for _ in range(times):
            for path in ("/api/v1/tasks?limit=5", "/api/v1/queues", "/", "/tasks/", "/health"):
                connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=10)
                connection.request("GET", path)
                answer = connection.getresponse()
                assert answer.status == 200, answer.read()
                answer.read()
                connection.close()

    ask(10)
    before = len(redis_client.client_list())
    ask(60)
    assert len(redis_client.client_list()) <= before + 1
