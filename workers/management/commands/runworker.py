"""``manage.py runworker``: runs tasks until it is told to stop."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.db import connections

import tasks_app
from tasks_app import runtime
from tasks_app.checks import SERVER_TAG, SETTINGS_TAG
from tasks_app.conf import config, redis_url
from tasks_app.domain.errors import ConfigError
from tasks_app.domain.submission import QUEUE_PATTERN
from workers.allocator import use_few_arenas
from workers.database import surroundings
from workers.engine.runner import run_worker
from workers.fleet import run_fleet
from workers.long_command import LongCommand
from workers.options import MAX_CONCURRENCY, MAX_PROCESSES, check_range

_NO_HANDLERS = "No handlers here: each task that this worker takes is dead-lettered. DTQ_TASK_MODULES names modules."


class Command(LongCommand):
    """SIGTERM or Ctrl-C finishes what runs, for ``DTQ_DRAIN_TIMEOUT_S`` at most; a second one gives it back at once."""

    help = "Run a worker. Redis need not be there yet."
    requires_system_checks = [SETTINGS_TAG, SERVER_TAG]

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to serve and how much at once."""
        parser.add_argument("--queues", help="serve these, in this order: a,b,c (default: every queue)")
        parser.add_argument("--concurrency", type=int, help="tasks at once in a process (DTQ_WORKER_CONCURRENCY)")
        parser.add_argument("--processes", type=int, default=1, help="worker processes (default: %(default)s)")
        parser.add_argument("--no-scheduler", action="store_true", help="leave the scheduler to other workers")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until asked to stop."""
        queues = _queues(options["queues"])
        check_range("--concurrency", options["concurrency"], 1, MAX_CONCURRENCY)
        check_range("--processes", options["processes"], 1, MAX_PROCESSES)
        try:
            settings, registry = config(), runtime.registry()
        except ConfigError as error:
            raise CommandError(error.message) from error
        if not registry.names() and not options["skip_checks"]:
            self.remark(_NO_HANDLERS)
        if options["processes"] > 1:
            run_fleet(_arguments(options), processes=options["processes"], drain_timeout_s=settings.drain_timeout_s)
            return
        connections.close_all()  # what checks and imports have opened here is of no use to the handlers' threads
        use_few_arenas()  # before the first thread
        run_worker(
            settings,
            redis_url(),
            registry,
            queues=queues,
            concurrency=options["concurrency"],
            scheduler=not options["no_scheduler"],
            surroundings=surroundings(),
            version=tasks_app.__version__,
        )


def _queues(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if QUEUE_PATTERN.fullmatch(name) is None:
            raise CommandError(f"--queues: {name!r} is no queue name; it must match {QUEUE_PATTERN.pattern}")
    return names


def _arguments(options: dict[str, Any]) -> list[str]:
    """The command line of one process of the fleet; what is to be said about the server has been said here."""
    arguments = ["runworker", "--skip-checks"]
    if options["queues"] is not None:
        arguments += ["--queues", options["queues"]]
    if options["concurrency"] is not None:
        arguments += ["--concurrency", str(options["concurrency"])]
    if options["no_scheduler"]:
        arguments.append("--no-scheduler")
    return arguments
