"""The stage of a benchmark: a private server, worker processes, and what the server counted meanwhile."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from tasks_app.domain.config import Config
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.submission import Submission, parse_submission
from tasks_app.store.commands import Commands
from tasks_app.store.connections import connect
from tasks_app.store.queries import Queries
from tests.support.server import PrivateServer

ROOT = Path(__file__).resolve().parents[2]
POLL_S = 0.005


@dataclass(frozen=True)
class Stage:
    """What a scenario works with."""

    url: str
    config: Config
    client: redis.Redis
    commands: Commands
    queries: Queries

    def submission(self, **fields: Any) -> Submission:
        """A valid submission of a ``noop`` unless told otherwise."""
        return parse_submission({"task_type": "noop", **fields}, self.config)

    def submit(self, count: int, **fields: Any) -> None:
        """Put ``count`` equal tasks into the queue, 500 a call."""
        one = self.submission(**fields)
        for first in range(0, count, 500):
            self.commands.submit_many([one] * min(500, count - first))

    def wait_for(self, condition: Callable[[], bool], timeout_s: float = 120) -> None:
        """Look every few milliseconds until ``condition`` holds."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError("The benchmark's condition did not come true")
            time.sleep(POLL_S)

    def succeeded(self) -> int:
        """How many tasks have succeeded."""
        return self.queries.counts()[TaskStatus.SUCCEEDED]

    @contextmanager
    def workers(self, processes: int = 1, concurrency: int = 200, **env: str) -> Iterator[list[int]]:
        """Run that many ``runworker`` processes, ready when they have sent a heartbeat; yields their pids."""
        command = [sys.executable, "manage.py", "runworker", "--concurrency", str(concurrency)]
        started = [
            subprocess.Popen(
                command, cwd=ROOT, env=self._environment(env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            for _ in range(processes)
        ]
        try:
            self.wait_for(lambda: self.client.zcard("dtq:workers") == processes)
            yield [process.pid for process in started]
        finally:
            for process in started:
                process.terminate()
            for process in started:
                process.wait(30)

    def _environment(self, extra: dict[str, str]) -> dict[str, str]:
        return {
            **os.environ,
            "DTQ_REDIS_URL": self.url,
            "DTQ_MAX_QUEUE_DEPTH": str(self.config.max_queue_depth),
            "DTQ_TASK_MODULES": "tests.benchmarks.handlers",
            "DTQ_LOG_LEVEL": "WARNING",
            **extra,
        }


@contextmanager
def stage() -> Iterator[Stage]:
    """A fresh server for one scenario."""
    server = PrivateServer()
    server.start()
    try:
        config = Config(redis_url=server.url, max_queue_depth=10_000_000)
        client = connect(server.url)
        yield Stage(server.url, config, client, Commands(client, config), Queries(client, config))
        client.close()
    finally:
        server.close()


@dataclass
class Spent:
    """What the server did between two moments."""

    commands: int = 0
    calls: int = 0
    cpu_s: float = 0.0


@contextmanager
def counting(client: redis.Redis) -> Iterator[Spent]:
    """Count commands (those inside scripts too), client calls (round trips) and the server's CPU seconds."""
    spent = Spent()
    before_cpu = _cpu(client)
    client.config_resetstat()
    yield spent
    stats = client.info("commandstats")
    calls = {name.removeprefix("cmdstat_"): int(stat["calls"]) for name, stat in stats.items()}
    asked_by_us = {"info", "config|resetstat", "zcard", "hget", "client|setinfo"}
    spent.commands = sum(n for name, n in calls.items() if name not in asked_by_us and not name.startswith("eval"))
    spent.calls = sum(n for name, n in calls.items() if name.startswith("eval") or name == "blpop")
    spent.cpu_s = _cpu(client) - before_cpu


def _cpu(client: redis.Redis) -> float:
    info = client.info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


def process_cpu_s(pid: int) -> float:
    """CPU seconds a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def machine(client: redis.Redis) -> dict[str, Any]:
    """Where the figures were taken."""
    info = client.info("server")
    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "server": f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {info['redis_version']}",
        "system": platform.platform(),
    }
