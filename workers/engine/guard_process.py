"""The guard itself (see ``guard.py``): ``python -m workers.engine.guard_process <socket> <worker's pid>``."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import structlog

from tasks_app import logs
from tasks_app.domain.errors import StoreUnavailable
from tasks_app.store.connections import connect
from tasks_app.store.presence import Heartbeat, Presence

log = structlog.get_logger(__name__)

SILENCE_S = 1.25
"""The keeper speaks each second; so long without a word, it is not getting its turn."""
WARN_AFTER_S = 2.0
LATE_BEAT = 1.25
"""So many heartbeat intervals after the last beat this process beats in the worker's place."""
STEP_S = 1.0
LOOK_EVERY_S = 0.05
LOOK_WHEN_BUSY_S = 0.02
MAX_MESSAGE_BYTES = 1 << 20
MAX_RENEWALS_PER_CALL = 500
MAX_NAMED = 3
_NOT_RUNNING = frozenset("TtZXx")
_TASK = re.compile(r"^(\S+) (\d+) (.*)$", re.MULTILINE)  # in a damaged record anything may stand for the type


class Guard:
    """What the worker has last said, and what follows from its silence."""

    def __init__(
        self, presence: Presence, worker_id: str, worker_runs: Callable[[], bool], *, heartbeat_every_s: float
    ) -> None:
        self._presence = presence
        self._worker_id = worker_id
        self._worker_runs = worker_runs
        self._heartbeat_every_s = heartbeat_every_s
        # Read only when it matters: at full load it is most of what this process would do.
        self._running: list[bytes] = []
        # A task may be announced while the keeper is already writing a list without it, so one list is not enough to
        # forget it. Renewing one that has ended is refused by the store and harms nobody.
        self._before: list[bytes] = []
        self._beat: Heartbeat | None = None
        self._heard_at = float("inf")
        self._renew_at = 0.0
        self._beat_at = float("inf")
        self._warn_at_s = WARN_AFTER_S

    def hear(self, message: bytes, now: float) -> None:
        """Take in one message of the worker."""
        word, body = message[:1], message[1:]
        if word == b"!":
            fields = json.loads(body)
            lists = {name: tuple(fields[name]) for name in ("queues", "running", "task_types")}
            # How its loop did then is nothing to say again later.
            self._beat = Heartbeat(**{**fields, **lists, "fetching": None})
            self._beat_at = now + LATE_BEAT * self._heartbeat_every_s
            return
        if word == b"=":
            self._before, self._running = self._running, [body]
            self._heard_at = now
            self._warn_at_s = WARN_AFTER_S
        else:
            self._running.append(body)

    def run_once(self, now: float) -> None:
        """Act in the worker's place if it is silent; call it often.

        Raises:
            StoreUnavailable: try again soon.
        """
        renew = now - self._heard_at >= SILENCE_S and now >= self._renew_at
        beat = now >= self._beat_at
        if not (renew or beat) or not self._worker_runs():
            return
        if renew:
            self._renew_at = now + STEP_S
            self._renew(now - self._heard_at)
        if beat and self._beat is not None:
            self._beat_at = now + self._heartbeat_every_s
            self._presence.heartbeat(self._beat)

    def _renew(self, silent_s: float) -> None:
        told = _TASK.findall(b"\n".join(self._before + self._running).decode())
        tasks = {task_id: (int(attempt), kind) for task_id, attempt, kind in told}
        running = [(task_id, attempt) for task_id, (attempt, _) in tasks.items()]
        for start in range(0, len(running), MAX_RENEWALS_PER_CALL):
            self._presence.renew(self._worker_id, running[start : start + MAX_RENEWALS_PER_CALL])
        if silent_s >= self._warn_at_s:
            self._warn_at_s = silent_s * 2
            log.warning(
                "INTERPRETER_BLOCKED",
                worker_id=self._worker_id,
                seconds=round(silent_s, 1),
                running=len(tasks),
                tasks=[f"{kind} {task_id}" for task_id, (_, kind) in list(tasks.items())[:MAX_NAMED]],
            )


def main(descriptor: int, worker_pid: int) -> None:
    """Guard the worker until it hangs up or dies."""
    # Sent to all of a service at once, they mean the worker, which still drains.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    with socket.socket(fileno=descriptor) as line:
        config, url, worker_id = pickle.loads(line.recv(MAX_MESSAGE_BYTES))  # noqa: S301 - from our own parent
        line.setblocking(False)
        logs.configure(config)
        guard = Guard(
            Presence(connect(url, key_prefix=config.key_prefix), config),
            worker_id,
            lambda: runs(worker_pid),
            heartbeat_every_s=config.heartbeat_interval_s,
        )
        log.debug("LEASE_GUARD_READY", worker_id=worker_id)
        message = bytearray(MAX_MESSAGE_BYTES)  # once: a new one for each message scatters the memory
        look_every_s = LOOK_EVERY_S
        while os.getppid() == worker_pid:
            try:
                length = line.recv_into(message)
                if not length:
                    return
                guard.hear(bytes(memoryview(message)[:length]), time.monotonic())
                look_every_s = LOOK_WHEN_BUSY_S
            except BlockingIOError:
                _step(guard)
                # Asleep and not at the socket: nothing that is told to it wakes it just when a task is to start.
                time.sleep(look_every_s)
                look_every_s = LOOK_EVERY_S


def _step(guard: Guard) -> None:
    try:
        guard.run_once(time.monotonic())
    except StoreUnavailable as error:
        log.debug("REDIS_UNAVAILABLE", loop="lease guard", error=str(error))  # the worker says so, louder


def runs(pid: int) -> bool:
    """False when the process is stopped or dead: what it holds belongs to others then."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(") ")[2][:1] not in _NOT_RUNNING


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
