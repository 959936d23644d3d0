"""Starts the real ``manage.py runworker`` and friends, and looks at what they do from outside."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import redis

from tasks_app.domain.config import Config
from tasks_app.domain.snapshot import Actor
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Task
from tasks_app.store.commands import Commands
from tasks_app.store.connections import connect
from tasks_app.store.queries import Queries
from tests.support.builders import make_config, make_submission
from tests.support.until import until

PROJECT = Path(__file__).resolve().parents[2]
LEASE_S = 3.0
ACTOR = Actor(name="tester", source="test")


class Process:
    """One ``manage.py`` command under test."""

    def __init__(self, arguments: Iterable[str], env: Mapping[str, str], log: Path) -> None:
        self.log = log
        with log.open("wb") as out:
            self._popen = subprocess.Popen(
                [sys.executable, str(PROJECT / "manage.py"), *arguments],
                env=dict(env),
                cwd=PROJECT,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    @property
    def text(self) -> str:
        """What it has logged so far."""
        return self.log.read_text(errors="replace")

    def send(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    def wait(self, timeout: float = 20.0) -> int:
        """Its exit status."""
        return self._popen.wait(timeout)

    def kill(self) -> None:
        """SIGKILL, as the kernel does when memory is short."""
        self._popen.kill()
        self._popen.wait()

    def kill_group(self) -> None:
        """End it and everything it started in its session."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()


class Fleet:
    """The processes of one test on one server, with the store beside them."""

    def __init__(self, url: str, folder: Path, *, seen_by: str = "", key_prefix: str = "dtq") -> None:
        """``seen_by``: where the test itself reaches the server, if not where the processes do."""
        self.client: redis.Redis = connect(seen_by or url, key_prefix=key_prefix)
        self.config: Config = make_config(visibility_timeout_s=LEASE_S, heartbeat_interval_s=1.0, key_prefix=key_prefix)
        self.url = url
        self.ledger = folder / "ledger"
        self.commands = Commands(self.client, self.config)
        self.queries = Queries(self.client, self.config)
        self._folder = folder
        self._env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("DTQ_")},
            "DTQ_REDIS_URL": url,
            "DTQ_KEY_PREFIX": key_prefix,
            "DTQ_TEST_LEDGER": str(self.ledger),
            "DTQ_DATA_DIR": str(folder / "data"),
            "DTQ_TASK_MODULES": "tests.process.tasks",
            "DTQ_DEMO_TASKS": "true",
            "DTQ_VISIBILITY_TIMEOUT_S": str(LEASE_S),
            "DTQ_HEARTBEAT_INTERVAL_S": "1",
            "DTQ_DRAIN_TIMEOUT_S": "2",
            "DTQ_RETRY_BASE_DELAY": "0.1",
            "DTQ_RETRY_MAX_DELAY": "1",
        }
        self.processes: list[Process] = []

    def start(self, *arguments: str, **env: str) -> Process:
        """Start ``manage.py <arguments>``; ``env`` names settings without their ``DTQ_``."""
        settings = self._env | {f"DTQ_{name}": value for name, value in env.items()}
        process = Process(arguments, settings, self._folder / f"log-{len(self.processes)}")
        self.processes.append(process)
        return process

    def worker(self, *arguments: str, concurrency: int = 5, ready: bool = True, **env: str) -> Process:
        """Start a worker; with ``ready`` wait until it shows among the workers."""
        process = self.start("runworker", "--concurrency", str(concurrency), *arguments, **env)
        if ready:
            until(lambda: self.shows(process), timeout=30, what=f"worker {process.pid} among the workers")
        return process

    def shows(self, process: Process) -> bool:
        """True when the process is on the list of workers."""
        assert process.alive, process.text
        return any(worker.pid == process.pid for worker in self.queries.workers())

    def worker_id(self, process: Process) -> str:
        return next(worker.id for worker in self.queries.workers() if worker.pid == process.pid)

    def submit(self, task_type: str, payload: str = "{}", **fields: Any) -> str:
        """Submit one task; its id."""
        return self.commands.submit(make_submission(task_type=task_type, payload_json=payload, **fields)).task.id

    def submit_many(self, number: int, task_type: str, payload: str = "{}", **fields: Any) -> list[str]:
        """Submit ``number`` alike; their ids."""
        submission = make_submission(task_type=task_type, payload_json=payload, **fields)
        ids = []
        for receipt in self.commands.submit_many([submission] * number):
            assert not isinstance(receipt, Exception), receipt
            ids.append(receipt.task.id)
        return ids

    def task(self, task_id: str) -> Task:
        return self.queries.task(task_id)

    def status(self, task_id: str) -> TaskStatus:
        return self.queries.task(task_id).status

    def all_in(self, ids: Iterable[str], status: TaskStatus) -> bool:
        return all(self.status(task_id) is status for task_id in ids)

    def wait_for(self, ids: Iterable[str], status: TaskStatus, timeout: float = 20.0) -> None:
        """Wait until every task is in ``status``."""
        left = list(ids)

        def arrived() -> bool:
            while left and self.status(left[-1]) is status:
                left.pop()
            return not left

        until(arrived, timeout=timeout, what=f"all {status}")

    def ran(self, task_id: str, what: str = "start") -> int:
        """How often the handler has written ``what`` for the task."""
        return int(self.client.get(f"ledger:{what}:{task_id}") or 0)

    def release(self, task_id: str) -> None:
        """Let a handler go that waits for this."""
        self.client.set(f"ledger:release:{task_id}", 1)

    def close(self) -> None:
        for process in self.processes:
            process.kill_group()
        self.client.close()
