"""The web processes of one machine."""

from __future__ import annotations

import socket
import sys

from tasks_app.conf import PROJECT_DIR
from workers.supervisor import Child

# Longer than this nobody waits for an answer of this site; event streams are cut, their clients come back.
SHUTDOWN_TIMEOUT_S = 5
STOP_MARGIN_S = 5.0


def web_children(listener: socket.socket, processes: int) -> list[Child]:
    """``processes`` web processes that share ``listener``; the kernel hands each connection to one of them."""
    command = [sys.executable, str(PROJECT_DIR / "manage.py"), "runweb", "--fd", str(listener.fileno())]
    return [
        Child(f"web {number}", command, SHUTDOWN_TIMEOUT_S + STOP_MARGIN_S, pass_fds=(listener.fileno(),))
        for number in range(1, processes + 1)
    ]
