"""Child processes that cannot outlive the process that started them."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

_PR_SET_PDEATHSIG = 1
# Looked up before any fork: between fork and exec of a threaded program only the simplest calls are safe.
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def start_bound(
    command: Sequence[str],
    *,
    death_signal: signal.Signals = signal.SIGTERM,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
    stdout: int | IO[Any] | None = None,
    stderr: int | IO[Any] | None = None,
) -> subprocess.Popen[bytes]:
    """Start ``command`` in a session of its own; the kernel sends it ``death_signal`` when its parent dies.

    The kernel watches the *thread* that called this, so call it from one that lives as long as the process. On
    systems other than Linux the child is in a session of its own, and outlives a parent that is killed.
    """
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        env=env,
        pass_fds=pass_fds,
        start_new_session=True,  # a Ctrl-C of the terminal reaches the parent only, which stops things in order
        preexec_fn=_bind_to(os.getpid(), death_signal),
    )


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL ``process`` and everything it has started that is still in its group. Call before it is reaped."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # all of it has ended


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """True when ``process`` has ended; it stays unreaped, so that its id still names its group and nobody else's.

    Where the system cannot look without reaping (macOS before Python 3.13), what it left behind stays behind.
    """
    if process.returncode is not None:
        return True
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _bind_to(parent: int, death_signal: signal.Signals) -> Callable[[], None] | None:
    if _prctl is None:
        return None
    prctl, number = _prctl, int(death_signal)

    def bind() -> None:
        prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:  # it died before the line above
            os.kill(os.getpid(), number)

    return bind
