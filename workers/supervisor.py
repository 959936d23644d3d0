"""Runs the processes of one machine as one: keeps them up, stops them in order, leaves none behind."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType

import structlog

from workers.embedded import EmbeddedServer, EmbeddedServerError
from workers.processes import has_ended, kill_group, start_bound

log = structlog.get_logger(__name__)

TICK_S = 0.5
FIRST_DELAY_S = 0.1
LONGEST_DELAY_S = 5.0
HEALTHY_AFTER_S = 5.0


@dataclass(slots=True)
class Child:
    """One process to keep running. ``stop_timeout_s``: how long it may take to end after SIGTERM."""

    name: str
    command: Sequence[str]
    stop_timeout_s: float
    env: Mapping[str, str] | None = None
    pass_fds: Sequence[int] = ()
    process: subprocess.Popen[bytes] | None = None
    _started_at: float = 0.0
    _quick_deaths: int = 0
    _start_again_at: float = field(default=0.0)

    @property
    def running(self) -> bool:
        """True while the process lives."""
        return self.process is not None and not has_ended(self.process)

    def keep_up(self, now: float) -> None:
        """Start the process if it is due; after a death, wait a little longer each time it had not lived long."""
        if self.process is not None:
            if not has_ended(self.process):
                return
            code = self._bury()
            self._quick_deaths = 0 if now - self._started_at >= HEALTHY_AFTER_S else self._quick_deaths + 1
            delay = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2 ** min(self._quick_deaths, 10))
            self._start_again_at = now + delay
            log.warning("process ended, starting it again", process=self.name, code=code, in_s=round(delay, 1))
        if now >= self._start_again_at:
            self._started_at = now
            self.process = start_bound(self.command, env=self.env, pass_fds=self.pass_fds)

    def ask_to_stop(self) -> None:
        """SIGTERM: the process finishes what it has in hand."""
        if self.process is not None and self.running:
            self.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process and whatever it started, at once."""
        if self.process is not None:
            if self.process.returncode is None:
                kill_group(self.process)
            self._bury()

    def _bury(self) -> int:
        assert self.process is not None
        if self.process.returncode is None:
            kill_group(self.process)  # what a killed process leaves behind in its group
        code = self.process.wait()
        self.process = None
        return code


class Supervisor:
    """Keeps ``children`` and the embedded server up until SIGINT or SIGTERM, then stops the children in their order.

    ``on_ready`` is called once, when every child runs and ``is_ready`` first says so.
    """

    def __init__(
        self,
        children: Sequence[Child],
        server: EmbeddedServer | None,
        *,
        is_ready: Callable[[], bool],
        on_ready: Callable[[], None],
    ) -> None:
        self._children = list(children)
        self._server = server
        self._is_ready = is_ready
        self._on_ready = on_ready
        self._stop_requests = 0

    def run(self) -> None:
        """Returns when everything has stopped."""
        reader, writer = socket.socketpair()
        for end in (reader, writer):
            end.setblocking(False)
        previous_fd = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        previous = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        previous[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)  # only to be woken
        try:
            self._watch(reader)
            self._stop_children(reader)
        finally:
            for child in self._children:
                child.kill()
            if self._server is not None:
                self._server.stop()
            signal.set_wakeup_fd(previous_fd)
            for number, handler in previous.items():
                signal.signal(number, handler)
            reader.close()
            writer.close()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._stop_requests += 1

    def _watch(self, wake: socket.socket) -> None:
        ready = False
        while not self._stop_requests:
            self._keep_server_up()
            for child in self._children:
                child.keep_up(time.monotonic())
            if not ready and all(child.running for child in self._children) and self._is_ready():
                ready = True
                self._on_ready()
            _wait(wake, TICK_S if ready else TICK_S / 5)

    def _keep_server_up(self) -> None:
        if self._server is None or self._server.owned or self._server.ping():
            return
        log.warning("the embedded server is gone, starting it again on the same data")
        try:
            self._server.start()
        except EmbeddedServerError as error:
            log.error("the embedded server does not start", error=error.message)

    def _stop_children(self, wake: socket.socket) -> None:
        for child in self._children:
            child.ask_to_stop()
            deadline = time.monotonic() + child.stop_timeout_s
            while child.running and self._stop_requests < 2:
                if time.monotonic() > deadline:
                    log.warning("process does not stop, killing it", process=child.name)
                    break
                _wait(wake, min(TICK_S, max(0.0, deadline - time.monotonic())))
            child.kill()


def _wait(wake: socket.socket, timeout_s: float) -> None:
    select.select([wake], [], [], timeout_s)
    while select.select([wake], [], [], 0)[0]:
        os.read(wake.fileno(), 512)
