"""The real site in a process of its own, as operators reach it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from tasks_app.conf import PROJECT_DIR
from tests.support.until import until


class Site:
    """``manage.py runweb`` on a port of its own. It can be stopped and started again at the same address."""

    def __init__(self, redis_url: str, folder: Path, **settings: str) -> None:
        self.port = _free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self._log = folder / "web.log"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DTQ_")}
        self._env = {
            **kept,
            "DTQ_REDIS_URL": redis_url,
            "DTQ_DATA_DIR": str(folder / "var"),
            **{f"DTQ_{name.upper()}": value for name, value in settings.items()},
        }
        self.root = self.origin + settings.get("django_script_name", "")
        self._process: subprocess.Popen[bytes] | None = None
        self.manage("migrate", "--verbosity", "0")

    @property
    def pid(self) -> int:
        """The process that watches over those that serve."""
        assert self._process is not None
        return self._process.pid

    def start(self, processes: int = 1) -> None:
        """Start serving and return when it does."""
        self._process = self.spawn("runweb", "--port", str(self.port), "--processes", str(processes))
        until(self._answers, timeout=30, what=f"the site on {self.origin}")

    def stop(self) -> None:
        """Stop serving."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(timeout=30)
            self._process = None

    def spawn(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command of the project with the site's settings; it writes to the site's log."""
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "manage.py", *arguments],
                cwd=PROJECT_DIR,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def manage(self, *arguments: str, **env: str) -> str:
        """Run a command of the project with the site's settings; its output."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=PROJECT_DIR,
            env=self._env | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            text=True,
        )
        return done.stdout

    def log(self) -> str:
        """What the site has written to its log."""
        return self._log.read_text()

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log()
        try:
            with urllib.request.urlopen(f"{self.root}/health", timeout=2) as answer:  # noqa: S310 - our own http
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
