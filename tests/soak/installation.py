"""The installation under test: a private server with AOF, web, workers and scheduler, kept up as a supervisor would."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.benchmarks.stage import free_port
from tests.process.fleet import PROJECT, Process
from tests.soak.kinds import POISON
from tests.soak.tasks import FOLDER_VARIABLE
from tests.support.server import PrivateServer

LEASE_S = 6
STEADY = "worker 1"
"""The worker that is never killed, so that its memory can be watched: no task of it kills its process."""
RESTART_AFTER_S = 1.0


@dataclass(frozen=True)
class Blow:
    """Something done to a process. ``pid`` 0: to the server."""

    at: float
    name: str
    pid: int
    what: str


class Installation:
    """Starts everything in ``folder``; ``keep_up`` is to be called often."""

    def __init__(self, folder: Path, *, retention_s: int, idempotency_s: int) -> None:
        self.folder = folder
        (folder / "cures").mkdir(parents=True)
        (folder / "logs").mkdir()
        self.server = PrivateServer(aof=True)
        self.port = free_port()
        self.blows: list[Blow] = []
        self.bad_exits: list[str] = []
        self.settings = {
            "DTQ_REDIS_URL": self.server.url,
            "DTQ_DATA_DIR": str(folder / "data"),
            "DTQ_TASK_MODULES": "tests.soak.tasks",
            "DTQ_DEMO_TASKS": "false",
            "DTQ_VISIBILITY_TIMEOUT_S": str(LEASE_S),
            "DTQ_HEARTBEAT_INTERVAL_S": "2",
            "DTQ_DRAIN_TIMEOUT_S": "2",
            "DTQ_TASK_RETENTION_S": str(retention_s),
            "DTQ_IDEM_TTL_S": str(idempotency_s),
            "DTQ_LOG_JSON": "true",
            FOLDER_VARIABLE: str(folder),
        }
        queues = "default,mail,reports,images"
        worker = ("runworker", "--concurrency", "20")
        self._commands = {
            "web": ("runweb", "--port", str(self.port), "--processes", "2"),
            STEADY: (*worker, "--queues", queues),
            "worker 2": (*worker, "--queues", f"{queues},{POISON}"),
            "worker 3": worker,
            "scheduler": ("runscheduler",),
        }
        self._running: dict[str, Process] = {}
        self._ended_at: dict[str, float] = {}
        self._told: set[int] = set()
        self._logs = 0
        self._server_up = True
        self._lock = threading.RLock()

    def start(self) -> None:
        """Start everything; returns at once."""
        self.server.start()
        env = self._environment()
        for command in (("migrate",), ("collectstatic", "--no-input")):
            arguments = [sys.executable, str(PROJECT / "manage.py"), *command, "--verbosity", "0"]
            subprocess.run(arguments, cwd=PROJECT, env=env, check=True, capture_output=True)
        for name in self._commands:
            self._start(name)

    def keep_up(self) -> None:
        """Start again what has ended."""
        with self._lock:
            for name, process in self._running.items():
                if process.alive:
                    continue
                ended = self._ended_at.setdefault(name, time.monotonic())
                if time.monotonic() - ended >= RESTART_AFTER_S:
                    if (code := process.wait()) and process.pid in self._told:
                        self.bad_exits.append(f"{name} (pid {process.pid}) ended with {code} after SIGTERM")
                    del self._ended_at[name]
                    self._start(name)

    def pid(self, name: str) -> int:
        """The process that bears that name now."""
        return self._running[name].pid

    def strike(self, name: str, number: signal.Signals) -> int | None:
        """Send a signal to the process of that name and note it; its pid, ``None`` when it is down already."""
        with self._lock:
            process = self._running[name]
            if not process.alive or (number is not signal.SIGCONT and process.pid in self._told):
                return None
            if number is signal.SIGTERM and b"_STARTED" not in process.log.read_bytes():
                return None  # it still imports, and would end as any program does then
            self.blows.append(Blow(time.time(), name, process.pid, number.name))
            if number is signal.SIGTERM:
                self._told.add(process.pid)
            process.send(number)
            return process.pid

    def web_children(self) -> list[int]:
        """The processes that serve requests."""
        return [child.pid for child in psutil.Process(self.pid("web")).children()]

    def kill_web(self, pid: int) -> None:
        """SIGKILL one of them; its parent starts another."""
        self.blows.append(Blow(time.time(), "web", pid, signal.SIGKILL.name))
        os.kill(pid, signal.SIGKILL)

    def watched(self) -> dict[str, int]:
        """The processes whose memory is watched, by a name that tells a successor from its predecessor."""
        with self._lock:
            found = {name: self._running[name].pid for name in (STEADY, "scheduler") if self._running[name].alive}
            found["web, parent"] = self.pid("web")
            if self._server_up:
                found[f"server {self.server.pid}"] = self.server.pid
            found |= {f"web {pid}": pid for pid in self.web_children()}
            found |= {f"{STEADY}, guard": child.pid for child in psutil.Process(self.pid(STEADY)).children()}
            return found

    @property
    def server_is_up(self) -> bool:
        """False between ``take_server_away`` and ``bring_server_back``."""
        return self._server_up

    def take_server_away(self, *, kill: bool) -> None:
        """Stop the server cleanly, or kill it."""
        self._server_up = False
        self.blows.append(Blow(time.time(), "server", 0, "SIGKILL" if kill else "SHUTDOWN"))
        if kill:
            self.server.kill()
        else:
            self.server.stop()

    def bring_server_back(self) -> None:
        """Start the server on its files; returns when it has read them."""
        self.server.start()
        self._server_up = True
        self.blows.append(Blow(time.time(), "server", 0, "back"))

    def logs(self) -> dict[str, list[Path]]:
        """The log files by the name of their process."""
        found: dict[str, list[Path]] = {}
        for path in sorted((self.folder / "logs").iterdir()):
            found.setdefault(path.stem.rpartition("-")[0].replace("_", " "), []).append(path)
        return found

    def stop(self) -> None:
        """Ask everything to end, then the server. What does not end in time is killed and noted."""
        for process in self._running.values():
            if process.alive:
                process.send(signal.SIGTERM)
        for name, process in self._running.items():
            try:
                if code := process.wait(30):
                    self.bad_exits.append(f"{name} (pid {process.pid}) ended with {code} at the end")
            except subprocess.TimeoutExpired:
                self.bad_exits.append(f"{name} (pid {process.pid}) did not end")

    def close(self) -> None:
        """Leave nothing behind but the folder."""
        for process in self._running.values():
            process.kill_group()
        self.server.close()

    def _start(self, name: str) -> None:
        log = self.folder / "logs" / f"{name.replace(' ', '_')}-{self._logs:04}.log"
        self._logs += 1
        self._running[name] = Process(self._commands[name], self._environment(), log)

    def _environment(self) -> dict[str, str]:
        return {k: v for k, v in os.environ.items() if not k.startswith("DTQ_")} | self.settings
