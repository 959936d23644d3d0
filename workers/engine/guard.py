"""The worker's side of its guard: a second process that keeps the leases when this one's interpreter is blocked.

The lease keeper is a thread, and one call in C that does not let go of the interpreter's lock (a catastrophic regular
expression, ``sum(range(10**9))``) stops every thread of a process. The guard is told what runs *before* it starts, and
hears from the keeper each second; when that stops, it renews and beats in the worker's place. The store holds its
renewals to each task's timeout like any other, and it renews nothing for a worker that is stopped or dead.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import Popen

import structlog

from tasks_app.domain.config import Config
from tasks_app.store.leases import Claimed
from tasks_app.store.presence import Heartbeat
from workers.processes import start_bound

log = structlog.get_logger(__name__)

AVAILABLE = sys.platform == "linux"
"""The two processes talk over a socket that keeps messages whole, and the guard looks into ``/proc``."""

MAX_TASKS_PER_MESSAGE = 500
RESTART_EVERY_S = 5.0
_BUFFER_BYTES = 1 << 20
"""The kernel makes less of it, some 500 messages: more than come between two of the guard's looks."""
_PROJECT_DIR = Path(__file__).resolve().parents[2]

RunningTask = tuple[str, int, str]
"""Id, attempt and type of a task."""


class LeaseGuard:
    """Starts the guard and tells it things. Sending never blocks: a guard that does not listen is not waited for."""

    def __init__(self, config: Config, url: str, worker_id: str) -> None:
        self._setup = pickle.dumps((config, url, worker_id))
        self._socket: socket.socket | None = None
        self._process: Popen[bytes] | None = None
        self._start_at = 0.0

    def keep_up(self, now: float) -> None:
        """Start the guard if it is not there. On the lease keeper's thread, with which the kernel ends it."""
        if self._process is not None and self._process.poll() is None:
            return
        if not AVAILABLE or now < self._start_at:
            return
        if self._process is not None:
            log.warning("LEASE_GUARD_ENDED", code=self._process.returncode)
        self._start_at = now + RESTART_EVERY_S
        self._hang_up()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
        ours.send(self._setup)  # first: once the process is there, this thread may not get its turn for long
        with theirs:
            self._process = start_bound(
                [sys.executable, "-m", "workers.engine.guard_process", str(theirs.fileno()), str(os.getpid())],
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_PROJECT_DIR), *sys.path])},
                pass_fds=[theirs.fileno()],
                death_signal=signal.SIGKILL,
            )
        self._socket = ours

    def claimed(self, tasks: Sequence[Claimed]) -> None:
        """These are about to start. On the loop, before they do."""
        if self._socket is not None:
            self._tell(b"+", [(task.id, task.attempt, task.task_type) for task in tasks])

    def alive(self, running: Sequence[RunningTask]) -> None:
        """The keeper's thread gets its turn, and this is all that is leased."""
        self._tell(b"=", running[:MAX_TASKS_PER_MESSAGE])
        for start in range(MAX_TASKS_PER_MESSAGE, len(running), MAX_TASKS_PER_MESSAGE):
            self._tell(b"+", running[start : start + MAX_TASKS_PER_MESSAGE])

    def beat(self, beat: Heartbeat) -> None:
        """What the worker has just said of itself."""
        self._send(b"!" + json.dumps(dataclasses.asdict(beat)).encode())

    def close(self) -> None:
        """Let the guard go."""
        self._hang_up()
        if self._process is not None:
            self._process.wait()
            self._process = None

    def _tell(self, word: bytes, tasks: Sequence[RunningTask]) -> None:
        self._send(word + "\n".join(f"{task_id} {attempt} {kind}" for task_id, attempt, kind in tasks).encode())

    def _send(self, message: bytes) -> None:
        line = self._socket  # looked up once: the keeper's thread may hang up meanwhile
        if line is None:
            return
        try:
            line.send(message)
        except BlockingIOError:
            return  # it is behind; the next full list, a second from now, makes up for it
        except OSError:
            return  # it has ended; ``keep_up`` sees to that

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
