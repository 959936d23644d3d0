"""Who this worker is. The random part makes a restarted worker another one, even with the same host and pid."""

from __future__ import annotations

import os
import re
import secrets
import socket
from dataclasses import dataclass

MAX_HOST_CHARS = 60


@dataclass(frozen=True, slots=True)
class Identity:
    """``worker_id`` is ``<host>-<pid>-<8 hex digits>``, of letters, digits, ``.``, ``_`` and ``-`` only."""

    worker_id: str
    host: str
    pid: int


def host_name() -> str:
    """This host's name as worker ids have it."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname())[:MAX_HOST_CHARS].strip("-.") or "host"


def new_identity() -> Identity:
    """The identity of this process start."""
    host = host_name()
    return Identity(f"{host}-{os.getpid()}-{secrets.token_hex(4)}", host, os.getpid())
