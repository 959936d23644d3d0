"""The embedded server: started once, found again, never two on one directory, its data kept."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from tasks_app.conf import embedded_socket
from tests.support.until import until
from workers.embedded import EmbeddedServer, EmbeddedServerError

PROJECT = Path(__file__).resolve().parents[2]
STARTER = """
import sys
from pathlib import Path
from workers.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
print(server.start(), server.pid, flush=True)
sys.stdin.read()
server.stop()
"""

Make = Callable[..., EmbeddedServer]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short enough for a socket, which pytest's own folders may not be."""
    path = Path(tempfile.mkdtemp(prefix="dtq-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def make(folder: Path) -> Iterator[Make]:
    made: list[EmbeddedServer] = []

    def make_one(directory: Path = folder / "valkey", **options: object) -> EmbeddedServer:
        made.append(EmbeddedServer(directory, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make_one
    for server in made:
        server.stop()


def client(server: EmbeddedServer) -> redis.Redis:
    return redis.Redis.from_url(server.url, protocol=2)


def test_who_starts_it_stops_it_and_its_data_stays(make: Make) -> None:
    server = make()
    assert server.start() is True
    assert server.start() is False
    with client(server) as connection:
        connection.set("kept", "1")
    server.stop()
    assert not server.ping()
    assert server.pid is None
    assert server.start() is True
    with client(server) as connection:
        assert connection.get("kept") == b"1"


def test_who_finds_it_running_leaves_it_alone(make: Make) -> None:
    first, second = make(), make()
    first.start()
    assert second.start() is False
    assert not second.owned
    second.stop()
    assert first.ping()


def test_a_killed_server_starts_again_on_the_same_data(make: Make) -> None:
    server = make()
    server.start()
    with client(server) as connection:
        connection.set("kept", "1")
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    until(lambda: not server.owned, what="the server's end")
    assert server.start() is True
    with client(server) as connection:
        assert connection.get("kept") == b"1"


def test_of_many_starters_one_starts_it(folder: Path) -> None:
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", STARTER, str(folder / "valkey")],
            cwd=PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    answers = [starter.stdout.readline().split()[0] for starter in starters if starter.stdout]
    for starter in starters:
        starter.communicate()
    assert sorted(answers) == ["False", "False", "False", "True"]
    assert [starter.returncode for starter in starters] == [0, 0, 0, 0]


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_it_ends_when_its_starter_is_killed(folder: Path, make: Make) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, str(folder / "valkey")],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline().startswith("True")
        starter.kill()
    server = make()
    until(lambda: not server.ping(), what="the server's end")
    assert server.start() is True


def test_a_server_that_is_stuck_is_not_joined_by_a_second_one(make: Make) -> None:
    first = make()
    first.start()
    pid = first.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(EmbeddedServerError, match="does not answer"):
            make(start_timeout_s=0.1).start()
    finally:
        os.kill(pid, signal.SIGCONT)
    until(first.ping, what="an answer")
    assert first.pid == pid


def test_a_path_too_long_for_a_socket(folder: Path, make: Make) -> None:
    directory = folder / ("long" * 30)
    server = make(directory)
    assert server.start() is True
    assert server.socket == embedded_socket(directory)
    assert len(os.fsencode(server.socket)) < 100
    assert server.socket.parent.stat().st_mode & 0o077 == 0
    with client(server) as connection:
        connection.set("kept", "1")
    short = server.socket.parent
    server.stop()
    assert not short.exists()
    assert server.start() is True
    with client(server) as connection:
        assert connection.get("kept") == b"1"


def test_only_its_owner_reaches_it(folder: Path, make: Make) -> None:
    server = make()
    server.start()
    assert server.directory.stat().st_mode & 0o777 == 0o700
    assert server.socket.stat().st_mode & 0o777 == 0o600
    with client(server) as connection:
        assert connection.config_get("port") == {"port": "0"}


def test_it_keeps_an_append_only_file_and_refuses_rather_than_evicts(make: Make) -> None:
    server = make()
    server.start()
    with client(server) as connection:
        found = connection.config_get("appendonly", "appendfsync", "maxmemory-policy", "save")
    assert found == {
        "appendonly": "yes",
        "appendfsync": "everysec",
        "maxmemory-policy": "noeviction",
        "save": "",
    }


def test_without_a_file_and_with_arguments_of_ones_own(make: Make) -> None:
    server = make(aof=False, extra_args=["--maxmemory", "50mb"])
    server.start()
    with client(server) as connection:
        assert connection.config_get("appendonly", "maxmemory") == {"appendonly": "no", "maxmemory": "52428800"}


def test_a_server_that_cannot_start_says_why(make: Make) -> None:
    with pytest.raises(EmbeddedServerError, match="no-such-option"):
        make(extra_args=["--no-such-option", "1"]).start()
