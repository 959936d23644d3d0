"""``manage.py up``, as a stranger meets it: one command, and nothing left behind."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.until import until

PROJECT = Path(__file__).resolve().parents[2]
PLENTY_S = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def runs(process: psutil.Process) -> bool:
    """False for what has ended, also while nobody has fetched its exit status yet."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


class Up:
    """One ``manage.py up`` on a data directory of its own."""

    def __init__(self, folder: Path, *arguments: str, **settings: str) -> None:
        self.port = free_port()
        self.log = folder / f"log-{self.port}"
        env = {name: value for name, value in os.environ.items() if not name.startswith("DTQ_")}
        env |= {"DTQ_DATA_DIR": str(folder / "data")} | {f"DTQ_{name}": value for name, value in settings.items()}
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, str(PROJECT / "manage.py"), "up", "--port", str(self.port), *arguments],
                cwd=folder,  # not the project's: the command must not depend on where it is started
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.seen: dict[int, psutil.Process] = {}

    def wait_until_ready(self) -> None:
        until(lambda: "Ctrl-C stops it" in self.text, timeout=PLENTY_S, what=f"the greeting; it said {self.text}")
        self.family()

    @property
    def text(self) -> str:
        return self.log.read_text()

    def family(self) -> dict[str, list[psutil.Process]]:
        """Its processes by what they run; all that were ever seen are remembered."""
        found: dict[str, list[psutil.Process]] = {}
        for process in psutil.Process(self.process.pid).children(recursive=True):
            try:
                line = process.cmdline()
            except psutil.Error:  # it has just ended
                continue
            self.seen[process.pid] = process
            kind = next((word for word in ("runweb", "runworker") if word in line), "other")
            if line and "valkey" in line[0]:
                kind = "server"
            found.setdefault(kind, []).append(process)
        return found

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PLENTY_S)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, {"Content-Type": "application/json", **headers})
            response = connection.getresponse()
            answer = response.read()
            return response.status, json.loads(answer) if answer.startswith(b"{") else answer
        finally:
            connection.close()

    def submit(self, task_type: str, **payload: Any) -> str:
        status, task = self.ask("POST", "/api/v1/tasks", {"task_type": task_type, "payload": payload})
        assert status == 202, task
        task_id: str = task["id"]
        return task_id

    def status_of(self, task_id: str) -> str:
        status, task = self.ask("GET", f"/api/v1/tasks/{task_id}")
        return str(task["status"]) if status == 200 else str(status)

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        self.family()
        self.process.send_signal(number)
        assert self.process.wait(PLENTY_S) == 0, self.text

    def left_behind(self) -> list[psutil.Process]:
        return [process for process in self.seen.values() if runs(process)]


@pytest.fixture
def up() -> Iterator[Callable[..., Up]]:
    folder = Path(tempfile.mkdtemp(prefix="dtq-"))
    started: list[Up] = []

    def start(*arguments: str, ready: bool = True, **settings: str) -> Up:
        started.append(Up(folder, *arguments, **settings))
        if ready:
            started[-1].wait_until_ready()
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        for process in one.left_behind():
            process.kill()
    shutil.rmtree(folder)


Start = Callable[..., Up]


def test_a_task_runs_and_the_next_start_finds_it_again(up: Start) -> None:
    first = up()
    task_id = first.submit("echo", hello="world")
    until(lambda: first.status_of(task_id) == "succeeded", timeout=PLENTY_S, what="success")
    assert {kind: len(members) for kind, members in first.family().items() if kind != "other"} == {
        "server": 1,
        "runweb": 1,
        "runworker": 1,
    }
    first.stop()
    assert first.left_behind() == []
    assert "Traceback" not in first.text
    second = up("--processes", "2")
    assert second.status_of(task_id) == "succeeded"
    assert len(second.family()["runweb"]) == 2
    second.stop(signal.SIGTERM)
    assert second.left_behind() == []


def test_whatever_dies_comes_back(up: Start) -> None:
    one = up()
    task_id = one.submit("echo", n=1)
    until(lambda: one.status_of(task_id) == "succeeded", timeout=PLENTY_S, what="success")
    for kind in ("server", "runweb", "runworker"):
        (victim,) = one.family()[kind]
        victim.kill()
        until(
            lambda kind=kind, pid=victim.pid: [p.pid for p in one.family().get(kind, [])] not in ([], [pid]),  # type: ignore[misc]
            timeout=PLENTY_S,
            what=f"another {kind}",
        )
    until(lambda: one.ask("GET", "/ready")[0] == 200, timeout=PLENTY_S, what="readiness")
    assert one.status_of(task_id) == "succeeded"
    again = one.submit("echo", n=2)
    until(lambda: one.status_of(again) == "succeeded", timeout=PLENTY_S, what="success after it all")
    one.stop()
    assert one.left_behind() == []


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_nothing_outlives_a_killed_supervisor(up: Start) -> None:
    one = up(DRAIN_TIMEOUT_S="1")
    one.process.kill()
    until(lambda: one.left_behind() == [], timeout=PLENTY_S, what="the end of its processes")


def test_a_second_one_uses_the_first_ones_server_and_leaves_it(up: Start) -> None:
    first = up()
    second = up("--no-worker")
    task_id = second.submit("echo")
    until(lambda: first.status_of(task_id) == "succeeded", timeout=PLENTY_S, what="success")
    assert "server" not in second.family()
    second.stop()
    assert first.ask("GET", "/ready")[0] == 200
    first.stop()
    assert first.left_behind() == second.left_behind() == []


def test_two_that_start_at_once_on_nothing_at_all(up: Start) -> None:
    both = [up(ready=False), up(ready=False)]
    for one in both:
        one.wait_until_ready()
        assert "Traceback" not in one.text
    task_id = both[0].submit("echo")
    until(lambda: both[1].status_of(task_id) == "succeeded", timeout=PLENTY_S, what="success")
    for one in both:
        one.stop()
        assert one.left_behind() == []


def test_a_port_in_use(up: Start) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        one = up("--port", str(taken.getsockname()[1]), ready=False)
        assert one.process.wait(PLENTY_S) == 1
    assert "is in use. Choose another one with --port." in one.text
    assert "Traceback" not in one.text


def test_open_mode_stays_on_this_machine(up: Start) -> None:
    one = up("--host", "0.0.0.0", ready=False)
    assert one.process.wait(PLENTY_S) == 1
    assert "Set DTQ_API_KEY" in one.text


def test_numbers_that_cannot_work_are_refused_before_anything_starts(up: Start) -> None:
    one = up("--concurrency", "0", ready=False)
    assert one.process.wait(PLENTY_S) == 1
    assert one.text == "CommandError: --concurrency must be 1..10000\n"


def test_bad_settings_are_explained(up: Start) -> None:
    one = up(ready=False, HEARTBEAT_INTERVAL_S="60")
    assert one.process.wait(PLENTY_S) == 1
    assert "at most a third of DTQ_VISIBILITY_TIMEOUT_S" in one.text
    assert "Traceback" not in one.text


def test_a_data_directory_that_cannot_be_is_explained(up: Start) -> None:
    one = up(ready=False, DATA_DIR="/dev/null/data")
    assert one.process.wait(PLENTY_S) == 1
    assert one.text == "DTQ_DATA_DIR: /dev/null/data cannot be used: Not a directory\n"


def test_with_a_key_it_serves_others_under_the_machines_names(up: Start) -> None:
    one = up("--host", "0.0.0.0", "--no-worker", API_KEY="a-key-for-the-test")
    assert one.ask("GET", "/api/v1/tasks")[0] == 401
    assert one.ask("GET", "/api/v1/tasks", **{"X-API-Key": "a-key-for-the-test"})[0] == 200
    assert one.ask("GET", "/health", Host=socket.gethostname())[0] == 200
    assert one.ask("GET", "/health", Host="attacker.example")[0] == 400
    assert "a-key-for-the-test" not in one.text
    assert "echo" not in one.text, "nothing here could run it"
    one.stop()


def test_below_a_sub_path(up: Start) -> None:
    one = up("--no-worker", DJANGO_SCRIPT_NAME="/q")
    for path in ("/q/api/docs/", "/api/docs/"):  # a proxy may leave the sub-path in, or strip it
        status, page = one.ask("GET", path)
        assert status == 200
        assert b'href="/q/static/' in page
    status, _ = one.ask("GET", "/q/static/css/api-docs.css")
    assert status == 200
    one.stop()


def test_what_is_to_be_said_about_the_server_is_said_once(up: Start, redis_url: str) -> None:
    one = up(REDIS_URL=redis_url)
    until(lambda: "WORKER_STARTED" in one.text, timeout=PLENTY_S, what="the worker")
    one.stop()
    assert one.text.count("dtq.W003") == 1
