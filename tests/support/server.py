"""A private Redis or Valkey for one test run, on a unix socket in a directory of its own."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

from tests.support.until import until
from workers.embedded import EmbeddedServer
from workers.embedded import server_binary as bundled_binary

BINARY_VARIABLE = "DTQ_TEST_REDIS_SERVER"


def server_binary() -> str:
    """The server to test against: the named one, else the one that the product would embed."""
    return os.environ.get(BINARY_VARIABLE) or bundled_binary()


class PrivateServer:
    """A server process that the tests own: start, stop and restart it at will; its folder goes with ``close``."""

    def __init__(self, *, aof: bool = False) -> None:
        # A socket's path may have about 100 characters, which pytest's own temporary folders can exceed.
        self.folder = Path(tempfile.mkdtemp(prefix="dtq-"))
        self._server = EmbeddedServer(
            self.folder, binary=server_binary(), aof=aof, extra_args=("--appendfsync", "always")
        )
        self.url = self._server.url

    @property
    def pid(self) -> int:
        """Process id of the running server."""
        assert self._server.pid is not None, "the server is not running"
        return self._server.pid

    def start(self) -> None:
        """Start the process and return when it answers."""
        assert self._server.start(), "the server is running already"

    def stop(self) -> None:
        """Stop the process cleanly; what the AOF holds stays for the next start."""
        self._server.stop()

    def kill(self) -> None:
        """Stop the process as a power cut would."""
        os.kill(self.pid, signal.SIGKILL)
        until(lambda: not self._server.owned, timeout=20, what="the server's end")

    def close(self) -> None:
        """Stop the process and remove its folder."""
        if self._server.owned:
            self.kill()
        shutil.rmtree(self.folder)
