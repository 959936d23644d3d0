"""Several worker processes under one parent: ``runworker --processes N``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import structlog

from tasks_app.conf import PROJECT_DIR
from workers.supervisor import Child, Supervisor

log = structlog.get_logger(__name__)

STOP_MARGIN_S = 15.0
"""What a worker may need beyond its drain: to give back what is left and to write the last outcomes."""


def run_fleet(arguments: Sequence[str], *, processes: int, drain_timeout_s: float) -> None:
    """Run ``processes`` times ``manage.py`` with ``arguments`` until told to stop.

    Each is a process of its own from the start (no fork of one that has threads), is started again when it dies, and
    is told to stop by the kernel when this one dies.
    """
    command = [sys.executable, str(PROJECT_DIR / "manage.py"), *arguments]
    stop_timeout_s = drain_timeout_s + STOP_MARGIN_S
    workers = [Child(f"worker {number}", command, stop_timeout_s) for number in range(1, processes + 1)]
    log.info("FLEET_STARTED", processes=processes, pid=os.getpid())
    Supervisor([workers]).run()
    log.info("FLEET_STOPPED", pid=os.getpid())
