"""``manage.py up``: the whole system on this machine, with one command."""

from __future__ import annotations

import http.client
import socket
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections

from tasks_app.checks import SERVER_TAG, SETTINGS_TAG
from tasks_app.conf import PROJECT_DIR, config, embedded_dir, redis_url
from tasks_app.domain.config import Config
from tasks_app.logs import without_password
from workers.embedded import EmbeddedServer, EmbeddedServerError
from workers.exclusion import one_at_a_time
from workers.fleet import STOP_MARGIN_S
from workers.listening import (
    add_listening_arguments,
    allow_own_names,
    bind,
    check_listening_arguments,
    check_openness,
    is_loopback,
)
from workers.long_command import LongCommand
from workers.options import MAX_CONCURRENCY, check_range
from workers.static_files import collect_if_changed
from workers.supervisor import Child, Supervisor
from workers.web import web_children


class Command(LongCommand):
    """Runs the embedded server (unless ``DTQ_REDIS_URL`` names one), the web processes and a worker with scheduler."""

    help = "Start everything on this machine: server, web and worker. Ctrl-C stops it, a second one at once."
    requires_system_checks = [SETTINGS_TAG]

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to listen and how much to start."""
        add_listening_arguments(parser)
        parser.add_argument("--concurrency", type=int, help="tasks the worker runs at once (DTQ_WORKER_CONCURRENCY)")
        parser.add_argument("--no-worker", action="store_true", help="start no worker here")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until asked to stop."""
        check_listening_arguments(options)
        check_range("--concurrency", options["concurrency"], 1, MAX_CONCURRENCY)
        check_openness(options["host"], options["insecure_open"])
        allow_own_names(options["host"])
        listener = bind(options["host"], options["port"])
        try:
            self._run(listener, options)
        except KeyboardInterrupt:  # before the supervisor took over
            raise CommandError("Stopped while starting.", returncode=130) from None
        self.stdout.write("Stopped. Nothing is left running, and the tasks are kept.")

    def _run(self, listener: socket.socket, options: dict[str, Any]) -> None:
        stages = [web_children(listener, options["processes"])]
        if not options["no_worker"]:
            stages.append([_worker(config(), options["concurrency"])])
        address = _reachable(listener)
        with self._server() as server:
            self._prepare()
            Supervisor(
                stages,
                server,
                is_ready=lambda: _answers(address),
                on_ready=lambda: self._say_hello(listener, not options["no_worker"], server),
            ).run()

    @contextmanager
    def _server(self) -> Iterator[EmbeddedServer | None]:
        if not config().embedded:
            yield None
            return
        server = EmbeddedServer(embedded_dir(config().data_dir))
        try:
            server.start()
            yield server
        except EmbeddedServerError as error:
            raise CommandError(error.message) from error
        finally:
            server.stop()

    def _prepare(self) -> None:
        self.check(tags=[SERVER_TAG])
        with one_at_a_time(config().data_dir / "prepare.lock"):  # two that make the same tables would break each other
            call_command("migrate", interactive=False, verbosity=0)
            connections.close_all()
            collect_if_changed()

    def _say_hello(self, listener: socket.socket, with_worker: bool, server: EmbeddedServer | None) -> None:
        place = f"http://{_reachable(listener)}{settings.FORCE_SCRIPT_NAME or ''}"
        where = f"embedded, data in {config().data_dir}" if server else without_password(redis_url())
        if server and not server.owned:
            where += " (found running)"
        lines = [
            "",
            f"  dtq is up          {place}/",
            f"  API documentation  {place}/api/docs/",
            f"  Redis              {where}",
            f"  Worker             {'one, with scheduler' if with_worker else 'none here: manage.py runworker'}",
        ]
        if config().open_mode:
            reach = "this machine" if is_loopback(listener.getsockname()[0]) else "EVERYONE who reaches this address"
            lines.append(f"  Access             open, without a key, to {reach}")
        else:
            lines.append("  Access             API with the key, console with a user (manage.py createoperator)")
        lines += [
            "",
            "  Try it:",
            *_first_request(place),
            "",
            "  Ctrl-C stops it; a second one does not wait for running tasks.",
            "",
        ]
        self.stdout.write("\n".join(lines))
        self.stdout.flush()  # whoever reads it through a pipe or a file waits for it as well


def _first_request(place: str) -> list[str]:
    key = "" if config().open_mode else ' -H "X-API-Key: $DTQ_API_KEY"'
    if not config().loads_demo_tasks:  # no task type is known here that surely exists
        return [f"    curl -s {place}/api/v1/queues{key}"]
    return [
        f"    curl -s {place}/api/v1/tasks{key} -H 'Content-Type: application/json' \\",
        """         -d '{"task_type": "echo", "payload": {"hello": "world"}}'""",
    ]


def _worker(settings: Config, concurrency: int | None) -> Child:
    command = [sys.executable, str(PROJECT_DIR / "manage.py"), "runworker", "--skip-checks"]
    if concurrency is not None:
        command += ["--concurrency", str(concurrency)]
    return Child("worker", command, settings.drain_timeout_s + STOP_MARGIN_S)


def _reachable(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        host = "127.0.0.1"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _answers(address: str) -> bool:
    connection = http.client.HTTPConnection(address, timeout=1.0)
    try:
        connection.request("GET", f"{settings.FORCE_SCRIPT_NAME or ''}/health", headers={"Host": "localhost"})
        return connection.getresponse().status < 500  # 400 where "localhost" is no allowed host: it answers, too
    except OSError:
        return False
    finally:
        connection.close()
