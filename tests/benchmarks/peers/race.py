"""What each entrant is put through; see the package for what is timed."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from tests.benchmarks.figures import Figures
from tests.benchmarks.peers.catalogue import Entrant
from tests.benchmarks.peers.environments import programs
from tests.benchmarks.peers.tally import FOLDER_VARIABLE, Tallies
from tests.benchmarks.stage import POLL_S, ROOT, free_port, memory
from tests.support.server import PrivateServer

SINGLES = 5_000
TASKS = 20_000
PROBES = 500
WARM_UP = 200
PATIENCE_S = 240.0
_STOP_S = 10.0


def run(entrant: Entrant, scale: float = 1.0) -> Figures:
    """One round of everything. ``scale`` shrinks it, for a quick look at whether all works."""
    singles, tasks, probes = (max(100, round(n * scale)) for n in (SINGLES, TASKS, PROBES))
    figures: Figures = {}
    with _course(entrant) as course:
        before = memory(course.client)
        figures["submit_per_s"] = course.produce("single", singles)["tasks_per_s"]
        figures["bytes_per_waiting_task"] = (memory(course.client) - before) / singles
    if entrant.bulk:
        with _course(entrant) as course:
            figures["bulk_per_s"] = course.produce("bulk", tasks)["tasks_per_s"]
    for processes in (1, 2):
        with _course(entrant) as course:
            figures[f"drain_{processes}_per_s"] = tasks / course.drain(processes, tasks)
    with _course(entrant) as course:
        figures |= course.latency(probes)
    return figures


@contextmanager
def _course(entrant: Entrant) -> Iterator[_Course]:
    """A fresh server, reachable over loopback TCP, and a folder for the tallies."""
    server = PrivateServer()
    server.start()
    try:
        with redis.Redis.from_url(server.url) as client, tempfile.TemporaryDirectory(prefix="dtq-") as folder:
            port = free_port()
            client.config_set("bind", "127.0.0.1")
            client.config_set("port", port)
            yield _Course(entrant, client, f"redis://127.0.0.1:{port}/0", Tallies(Path(folder)))
    finally:
        server.close()


@dataclass
class _Course:
    entrant: Entrant
    client: redis.Redis
    url: str
    tallies: Tallies

    def produce(self, what: str, count: int) -> dict[str, Any]:
        """Run the producer's side in the entrant's environment; its answer."""
        python = str(programs(self.entrant) / "python")
        command = [python, "-m", "tests.benchmarks.peers.produce", self.entrant.app, what, str(count)]
        env = self._environment() | {"BENCH_PRODUCER": "1"}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=PATIENCE_S)
        if done.returncode:
            raise RuntimeError(f"{self.entrant.app} could not {what}: {done.stderr[-2000:]}")
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return answer

    def fill(self, count: int) -> None:
        self.produce("bulk" if self.entrant.bulk else "single", count)

    def drain(self, processes: int, count: int) -> float:
        """Seconds from letting the warmed-up workers go until the last handler has run."""
        with self._workers(processes) as groups:
            _signal(groups, signal.SIGSTOP)
            done = self.tallies.total()
            self.fill(count)
            begun = time.perf_counter()
            _signal(groups, signal.SIGCONT)
            self._wait_for(done + count)
            return time.perf_counter() - begun

    def latency(self, probes: int) -> Figures:
        with self._workers(1):
            latencies = self.produce("latency", probes)["latencies_ms"]
        cuts = statistics.quantiles(latencies, n=100)
        return {"p50_ms": cuts[49], "p95_ms": cuts[94], "p99_ms": cuts[98]}

    @contextmanager
    def _workers(self, processes: int) -> Iterator[list[int]]:
        """That many worker processes, each of which has run something; yields their process groups."""
        folder = programs(self.entrant)
        started = [
            subprocess.Popen(
                [str(folder / command[0]), *command[1:]],
                cwd=ROOT,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            for command in self.entrant.worker(processes)
        ]
        groups = [process.pid for process in started]
        try:
            self._warm_up(processes)
            yield groups
        finally:
            _signal(groups, signal.SIGCONT)
            _signal(groups, signal.SIGTERM)
            for process in started:
                try:
                    process.wait(_STOP_S)
                except subprocess.TimeoutExpired:
                    _signal([process.pid], signal.SIGKILL)
                    process.wait()

    def _warm_up(self, processes: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        expected = 0
        while len(self.tallies.per_process()) < processes:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.entrant.app}: {processes} processes were started, not all run tasks")
            expected += WARM_UP
            self.fill(WARM_UP)
            self._wait_for(expected)

    def _wait_for(self, total: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while (seen := self.tallies.total()) < total:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.entrant.app}: {seen} of {total} tasks have run")
            time.sleep(POLL_S)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DTQ_")}
        return {
            **kept,
            "PYTHONPATH": str(ROOT),
            "BENCH_URL": self.url,
            "RQ_REDIS_URL": self.url,
            "DTQ_REDIS_URL": self.url,
            FOLDER_VARIABLE: str(self.tallies.folder),
            **self.entrant.env,
        }


def _signal(groups: list[int], number: signal.Signals) -> None:
    for group in groups:
        try:
            os.killpg(group, number)
        except ProcessLookupError:
            continue  # it has ended; whoever waits for its work will say so
