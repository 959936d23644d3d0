"""Several worker processes under one parent: ``runworker --processes N``."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from types import FrameType

import structlog

from workers.supervisor import Child

log = structlog.get_logger(__name__)

TICK_S = 0.5
STOP_MARGIN_S = 15.0
"""What a worker may need beyond its drain: to give back what is left and to write the last outcomes."""


class Fleet:
    """Keeps ``children`` up; hands SIGTERM and SIGINT on to all of them at once and returns when all have ended.

    A second signal is handed on as well: each worker then gives its tasks back and ends. One that does not is killed
    when its time is up.
    """

    def __init__(self, children: Sequence[Child]) -> None:
        self._children = list(children)
        self._signals = 0
        self._passed_on = 0

    def run(self) -> None:
        """Returns when every process has ended."""
        wake, waker = socket.socketpair()
        for end in (wake, waker):
            end.setblocking(False)
        previous_fd = signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        handlers = {number: signal.signal(number, self._note) for number in (signal.SIGTERM, signal.SIGINT)}
        handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)  # only to be woken
        try:
            while not self._signals:
                for child in self._children:
                    child.keep_up(time.monotonic())
                _wait(wake, TICK_S)
            self._stop(wake)
        finally:
            for child in self._children:
                child.kill()
            signal.set_wakeup_fd(previous_fd)
            for number, handler in handlers.items():
                signal.signal(number, handler)
            wake.close()
            waker.close()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1

    def _stop(self, wake: socket.socket) -> None:
        deadline = time.monotonic() + max(child.stop_timeout_s for child in self._children)
        while any(child.running for child in self._children):
            if self._passed_on < min(self._signals, 2):
                self._passed_on += 1
                for child in self._children:
                    child.ask_to_stop()
            if time.monotonic() > deadline:
                log.warning("WORKERS_KILLED", processes=[child.name for child in self._children if child.running])
                return
            _wait(wake, TICK_S)


def run_fleet(arguments: Sequence[str], *, processes: int, drain_timeout_s: float) -> None:
    """Run ``processes`` times ``manage.py`` with ``arguments`` until told to stop.

    Each is a process of its own from the start (no fork of one that has threads), is started again when it dies, and
    is told to stop by the kernel when this one dies.
    """
    command = [sys.executable, sys.argv[0], *arguments]
    children = [
        Child(f"worker {number}", command, drain_timeout_s + STOP_MARGIN_S) for number in range(1, processes + 1)
    ]
    log.info("FLEET_STARTED", processes=processes, pid=os.getpid())
    Fleet(children).run()
    log.info("FLEET_STOPPED", pid=os.getpid())


def _wait(wake: socket.socket, timeout_s: float) -> None:
    select.select([wake], [], [], timeout_s)
    while select.select([wake], [], [], 0)[0]:
        os.read(wake.fileno(), 512)
