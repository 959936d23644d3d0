"""A server on a loopback port, as replicas, sentinels and clusters need it; ``server.py`` has those on a socket."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import redis
from redis.exceptions import RedisError

from tests.support.server import server_binary
from tests.support.until import until
from workers.processes import start_bound


class Node:
    """One server process with a folder and a port that it keeps when it is started again.

    ``options`` are settings by name with ``_`` for ``-``; ``login`` are redis-py's options to reach it with; ``more``
    are further lines of its file. ``sentinel`` starts one that watches instead of serving.
    """

    def __init__(
        self,
        *,
        binary: str = "",
        sentinel: bool = False,
        login: Mapping[str, Any] | None = None,
        more: str = "",
        **options: str,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="dtq-"))
        self.port = free_port()
        self._binary = binary or server_binary()
        self._login = dict(login or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._arguments = ["--sentinel"] if sentinel else []
        settings = {"dir": str(self.folder), "bind": "127.0.0.1", "port": "0"}
        settings["tls-port" if self._login.get("ssl") else "port"] = str(self.port)
        settings |= {} if sentinel else {"save": '""', "appendonly": "no", "repl-diskless-sync-delay": "0"}
        settings |= {name.replace("_", "-"): value for name, value in options.items()}
        self._file = self.folder / "server.conf"
        self._file.write_text("\n".join([f"{name} {value}" for name, value in settings.items()] + [more, ""]))
        self.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"redis://{self.address}"

    def client(self) -> redis.Redis:
        """For looking and for meddling; close it."""
        return redis.Redis(host="127.0.0.1", port=self.port, protocol=2, **self._login)

    def ask(self, *command: str | int) -> Any:
        """Send one command as an operator would."""
        with self.client() as client:
            return client.execute_command(*command)

    def start(self) -> None:
        """Start the process, and return when it answers."""
        with (self.folder / "log").open("ab") as log:
            self._process = start_bound(
                [self._binary, str(self._file), *self._arguments], death_signal=signal.SIGKILL, stdout=log, stderr=log
            )
        until(self._answers, timeout=20, what=f"a server on {self.port}")

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "log").read_text()[-2000:]
        try:
            return bool(self.ask("PING"))
        except RedisError:
            return False

    def send(self, number: signal.Signals) -> None:
        """SIGSTOP freezes the whole server, SIGCONT lets it go on."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder)


def free_port() -> int:
    """A port that nobody uses, nor the one ten thousand above it, where a cluster's nodes talk to each other."""
    rng = random.Random(os.urandom(8))
    while True:
        port = rng.randrange(11_000, 22_000)
        with socket.socket() as one, socket.socket() as other:
            try:
                one.bind(("127.0.0.1", port))
                other.bind(("127.0.0.1", port + 10_000))
            except OSError:
                continue
            return port
