"""Runs several processes as one: keeps them up, stops them in order, leaves none behind."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import structlog

from workers.embedded import EmbeddedServer, EmbeddedServerError
from workers.processes import has_ended, kill_group, start_bound

log = structlog.get_logger(__name__)

TICK_S = 0.5
FIRST_DELAY_S = 0.1
LONGEST_DELAY_S = 5.0
HEALTHY_AFTER_S = 5.0
# After a second signal a process may still give back what it holds; that takes a moment, not a drain.
IMPATIENT_S = 5.0


@dataclass(slots=True)
class Child:
    """One process to keep running. ``stop_timeout_s``: how long it may take to end after SIGTERM."""

    name: str
    command: Sequence[str]
    stop_timeout_s: float
    pass_fds: Sequence[int] = ()
    process: subprocess.Popen[bytes] | None = None
    _started_at: float = 0.0
    _quick_deaths: int = 0
    _start_again_at: float = 0.0

    @property
    def running(self) -> bool:
        """True while the process lives."""
        return self.process is not None and not has_ended(self.process)

    def keep_up(self, now: float) -> None:
        """Start the process if it is due; after a death, wait longer each time that it had not lived for long."""
        if self.process is not None:
            if not has_ended(self.process):
                return
            code = self._bury()
            self._quick_deaths = 0 if now - self._started_at >= HEALTHY_AFTER_S else self._quick_deaths + 1
            delay = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2 ** min(self._quick_deaths, 10))
            self._start_again_at = now + delay
            log.warning("PROCESS_ENDED", process=self.name, code=code, starts_again_in_s=round(delay, 1))
        if now >= self._start_again_at:
            self._started_at = now
            self.process = start_bound(self.command, pass_fds=self.pass_fds)

    def ask_to_stop(self) -> None:
        """SIGTERM: the process finishes what it has in hand. A second one tells it to hurry."""
        if self.process is not None and self.running:
            self.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process and whatever it started, at once."""
        if self.process is not None:
            self._bury()

    def _bury(self) -> int:
        assert self.process is not None
        if self.process.returncode is None:
            kill_group(self.process)  # itself, or what it has left behind in its group
        code = self.process.wait()
        self.process = None
        return code


class Supervisor:
    """Keeps the children of all ``stages`` and the embedded ``server`` up until SIGINT, SIGTERM or SIGHUP.

    Then it stops one stage after the other, the children of a stage together. The server is left to whoever passed it
    in. A second signal is handed on to the children and shortens the wait, a third ends it. ``on_ready`` is called
    once, when every child runs and ``is_ready`` first says so.
    """

    def __init__(
        self,
        stages: Sequence[Sequence[Child]],
        server: EmbeddedServer | None = None,
        *,
        is_ready: Callable[[], bool] = lambda: True,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        self._stages = stages
        self._children = [child for stage in stages for child in stage]
        self._server = server
        self._is_ready = is_ready
        self._on_ready = on_ready

    def run(self) -> None:
        """Returns when everything has stopped. Belongs in the main thread."""
        with _signals() as signals:
            try:
                self._watch(signals)
                for stage in self._stages:
                    _stop(stage, signals)
            finally:
                for child in self._children:
                    child.kill()

    def _watch(self, signals: _Signals) -> None:
        ready = False
        while not signals.count:
            self._keep_server_up()
            for child in self._children:
                child.keep_up(time.monotonic())
            if not ready and all(child.running for child in self._children) and self._is_ready():
                ready = True
                self._on_ready()
            signals.wait(TICK_S if ready else TICK_S / 5)

    def _keep_server_up(self) -> None:
        if self._server is None or self._server.owned or self._server.ping():
            return
        log.warning("EMBEDDED_SERVER_GONE", note="it is started again on the same data")
        try:
            self._server.start()
        except EmbeddedServerError as error:
            log.error("EMBEDDED_SERVER_FAILED", error=error.message)


def _stop(stage: Sequence[Child], signals: _Signals) -> None:
    deadline = time.monotonic() + max(child.stop_timeout_s for child in stage)
    told = 0
    while any(child.running for child in stage):
        if told < min(signals.count, 2):
            told += 1
            for child in stage:
                child.ask_to_stop()
            if told == 2:
                deadline = min(deadline, time.monotonic() + IMPATIENT_S)
        if signals.count > 2 or time.monotonic() > deadline:
            log.warning("PROCESSES_KILLED", processes=[child.name for child in stage if child.running])
            return
        signals.wait(TICK_S)


class _Signals:
    """How often this process was asked to stop, and a wait that such a request, or a child's death, cuts short."""

    def __init__(self, wake: socket.socket) -> None:
        self.count = 0
        self._wake = wake

    def note(self, *_: object) -> None:
        self.count += 1

    def wait(self, timeout_s: float) -> None:
        select.select([self._wake], [], [], timeout_s)
        while select.select([self._wake], [], [], 0)[0]:
            os.read(self._wake.fileno(), 512)


@contextmanager
def _signals() -> Iterator[_Signals]:
    wake, waker = socket.socketpair()
    with wake, waker:
        waker.setblocking(False)
        signals = _Signals(wake)
        previous_fd = signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        previous = {number: signal.signal(number, signals.note) for number in (signal.SIGINT, signal.SIGTERM)}
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup leaves it, for who wants it to stay up
            previous[signal.SIGHUP] = signal.signal(signal.SIGHUP, signals.note)
        previous[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)  # only to be woken
        try:
            yield signals
        finally:
            signal.set_wakeup_fd(previous_fd)
            for number, handler in previous.items():
                signal.signal(number, handler)
