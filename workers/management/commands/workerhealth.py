"""``manage.py workerhealth``: does a worker of this host do its work? For exec probes."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasks_app import runtime
from tasks_app.conf import config
from tasks_app.domain.errors import ConfigError, StoreUnavailable
from tasks_app.domain.snapshot import WorkerInfo
from tasks_app.store.waiting import Waiting
from workers.engine.health import Verdict, judge
from workers.engine.identity import host_name

STUCK_AFTER_S = 30.0


class Command(BaseCommand):
    """Ends with 0 when every worker it is asked about is healthy, else with 1; one line says why.

    While Redis cannot be read nothing is known of a worker but whether its process exists, and no restart of it would
    help: that is 0.
    """

    help = "Say whether this host's workers do their work: exit status 0 or 1, and one line why."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which workers, and how patient to be."""
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--pid", type=int, help="the worker with this process id on this host")
        which.add_argument("--worker", help="the worker with this id, wherever it runs")
        which.add_argument("--all", action="store_true", help="every worker of this host (the default)")
        parser.add_argument("--expect", type=int, default=1, help="how many there are at least (default: %(default)s)")
        parser.add_argument(
            "--stuck-after",
            type=float,
            default=STUCK_AFTER_S,
            metavar="SECONDS",
            help="how long work may wait for a worker that has room (default: %(default)g)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Look once."""
        if options["pid"] is not None and not _exists(options["pid"]):
            raise CommandError(f"unhealthy: there is no process {options['pid']}")
        try:
            heartbeat_every_ms = round(config().heartbeat_interval_s * 1000)
            workers = _meant(runtime.queries().workers(), options)
            waiting = Waiting(runtime.client(), config())
            waits, now = waiting.startable_waits(), waiting.now()
        except ConfigError as error:
            raise CommandError(error.message) from error
        except StoreUnavailable as error:
            self.stdout.write(f"unknown: {error.message}, which no restart of a worker would change")
            return
        verdicts = [
            (
                worker.id,
                judge(
                    worker,
                    waits,
                    now,
                    heartbeat_every_ms=heartbeat_every_ms,
                    stuck_after_ms=round(options["stuck_after"] * 1000),
                ),
            )
            for worker in workers
        ]
        if sick := [(worker_id, verdict) for worker_id, verdict in verdicts if not verdict.healthy]:
            raise CommandError(f"unhealthy: {_line(sick)}")
        if len(verdicts) < options["expect"]:
            raise CommandError(
                f"unhealthy: {len(verdicts)} of {options['expect']} workers are on the list {_wanted(options)}"
            )
        self.stdout.write(f"healthy: {_line(verdicts)}")


def _meant(workers: list[WorkerInfo], options: dict[str, Any]) -> list[WorkerInfo]:
    if options["worker"] is not None:
        return [worker for worker in workers if worker.id == options["worker"]]
    # A record outlives its process by seconds. The process may be no more, or another one have its id by now, as in a
    # container that was restarted: then the record that was written last is that one's.
    latest: dict[int, WorkerInfo] = {}
    for worker in sorted(workers, key=lambda worker: worker.seen_at):
        pid = _pid(worker)
        if worker.id.startswith(f"{host_name()}-{pid}-") and options["pid"] in (None, pid) and _exists(pid):
            latest[pid] = worker
    return list(latest.values())


def _pid(worker: WorkerInfo) -> int:
    """Also of a worker whose record has ended: its id is still on the list for a while."""
    parts = worker.id.rsplit("-", 2)
    return int(parts[1]) if len(parts) == 3 and parts[1].isdecimal() else 0


def _exists(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's, so it is there
    return True


def _wanted(options: dict[str, Any]) -> str:
    if options["worker"] is not None:
        return f"as {options['worker']}"
    return f"of host {host_name()}" + (f" with process id {options['pid']}" if options["pid"] is not None else "")


def _line(verdicts: list[tuple[str, Verdict]]) -> str:
    return "; ".join(f"{worker_id} {verdict.reason}" for worker_id, verdict in verdicts)
