"""The stage of a benchmark: a private server, worker processes, and what the server counted meanwhile."""

from __future__ import annotations

import itertools
import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import redis

import tasks_app
from tasks_app.domain.config import Config
from tasks_app.domain.errors import DtqError
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.submission import Submission, parse_submission
from tasks_app.store.commands import Commands
from tasks_app.store.connections import connect
from tasks_app.store.keys import Keys
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
    keys: Keys

    def submission(self, **fields: Any) -> Submission:
        """A valid submission of a ``noop`` unless told otherwise."""
        return parse_submission({"task_type": "noop", **fields}, self.config)

    def submit(self, count: int, **fields: Any) -> None:
        """Put ``count`` equal tasks into the queue, 500 a call."""
        self.submit_all(itertools.repeat(self.submission(**fields), count))

    def submit_all(self, submissions: Iterable[Submission]) -> None:
        """Put these into their queues, 500 a call; every one must be accepted."""
        rest = iter(submissions)
        while batch := list(itertools.islice(rest, 500)):
            refused = [answer for answer in self.commands.submit_many(batch) if isinstance(answer, DtqError)]
            if refused:
                raise refused[0]

    def wait_for(self, condition: Callable[[], bool], timeout_s: float = 120) -> None:
        """Look every few milliseconds until ``condition`` holds."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError("The benchmark's condition did not come true")
            time.sleep(POLL_S)

    def wait_for_successes(self, count: int) -> None:
        """Look until that many tasks have succeeded: seldom at first, since each look takes time from the workers."""
        begun, at_first = time.monotonic(), self.succeeded()

        def reached() -> bool:
            now = self.succeeded()
            if now > at_first:
                left_s = (count - now) * (time.monotonic() - begun) / (now - at_first)
                time.sleep(min(0.1, left_s / 2))
            return now == count

        self.wait_for(reached)

    def succeeded(self) -> int:
        """How many tasks have succeeded."""
        return self.having(TaskStatus.SUCCEEDED)

    def having(self, *statuses: TaskStatus) -> int:
        """How many tasks are in these statuses, running left out; by a command that the product never sends."""
        pipe = self.client.pipeline(transaction=False)
        for status in statuses:
            pipe.zcount(self.keys.index(status), "-inf", "+inf")
        return sum(pipe.execute())

    @contextmanager
    def workers(self, processes: int = 1, concurrency: int = 200, **env: str) -> Iterator[list[int]]:
        """Run that many ``runworker`` processes, ready when they have sent a heartbeat; yields their pids."""
        commands = [["runworker", "--concurrency", str(concurrency)]] * processes
        with self.processes(commands, env) as pids:
            self.wait_for(lambda: self.client.zcard(self.keys.workers) == processes)
            yield pids

    @contextmanager
    def web(self, processes: int, **env: str) -> Iterator[int]:
        """Serve the site on loopback with that many web processes; yields the port. Open mode, no worker."""
        port = free_port()
        with tempfile.TemporaryDirectory(prefix="dtq-") as folder:
            settings = {"DTQ_DATA_DIR": folder, **env}
            migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
            subprocess.run(migrate, cwd=ROOT, env=self._environment(settings), check=True, capture_output=True)
            with self.processes([["runweb", "--port", str(port), "--processes", str(processes)]], settings):
                self.wait_for(lambda: _answers(f"http://127.0.0.1:{port}/health"))
                yield port

    @contextmanager
    def processes(self, commands: list[list[str]], env: dict[str, str]) -> Iterator[list[int]]:
        """Run those commands of ``manage.py``; yields their pids and ends them."""
        started = [
            subprocess.Popen(
                [sys.executable, "manage.py", *command],
                cwd=ROOT,
                env=self._environment(env),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for command in commands
        ]
        try:
            yield [process.pid for process in started]
        finally:
            for process in started:
                process.terminate()
            for process in started:
                process.wait(30)

    def _environment(self, extra: dict[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DTQ_")}
        return {
            **kept,
            "DTQ_REDIS_URL": self.url,
            "DTQ_MAX_QUEUE_DEPTH": str(self.config.max_queue_depth),
            "DTQ_TASK_MODULES": "tests.benchmarks.handlers",
            "DTQ_LOG_LEVEL": "WARNING",
            **extra,
        }


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - our own http
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def stage() -> Iterator[Stage]:
    """A fresh server for one scenario."""
    server = PrivateServer()
    server.start()
    try:
        config = Config(redis_url=server.url, max_queue_depth=10_000_000)
        client, keys = connect(server.url), Keys(config.key_prefix)
        yield Stage(server.url, config, client, Commands(client, config), Queries(client, config), keys)
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
    """Count commands (those inside scripts too), script calls and the server's CPU seconds.

    A script call is a round trip; a wait at the doorbells shares that of the claim behind it.
    """
    spent = Spent()
    before_cpu = _cpu(client)
    client.config_resetstat()
    yield spent
    stats = client.info("commandstats")
    calls = {name.removeprefix("cmdstat_"): int(stat["calls"]) for name, stat in stats.items()}
    asked_by_us = {"info", "config|resetstat", "zcount", "client|setinfo"}
    spent.commands = sum(n for name, n in calls.items() if name not in asked_by_us and not name.startswith("eval"))
    spent.calls = sum(n for name, n in calls.items() if name.startswith("eval"))
    spent.cpu_s = _cpu(client) - before_cpu


def _cpu(client: redis.Redis) -> float:
    info = client.info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


def memory(client: redis.Redis) -> int:
    """Bytes that the server's data takes."""
    return int(client.info("memory")["used_memory"])


def process_rss_mb(pid: int) -> float:
    """Resident memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def process_cpu_s(pid: int) -> float:
    """CPU seconds a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.processor())


def machine(client: redis.Redis) -> dict[str, Any]:
    """Where the figures were taken."""
    info = client.info("server")
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "load": round(os.getloadavg()[0], 2),
        "dtq": tasks_app.__version__,
        "python": platform.python_version(),
        "redis-py": redis.__version__,
        "uvloop": version("uvloop"),
        "server": f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {info['redis_version']}",
        "system": platform.platform(),
    }
