"""``manage.py up``: the whole system on this machine, with one command."""

from __future__ import annotations

import http.client
import socket
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from tasks_app.checks import SERVER_TAG, SETTINGS_TAG
from tasks_app.conf import PROJECT_DIR, config, embedded_dir, redis_url
from tasks_app.domain.config import Config
from tasks_app.logs import without_password
from workers.embedded import EmbeddedServer, EmbeddedServerError
from workers.listening import allow_own_names, bind, check_openness, is_loopback
from workers.static_files import collect_if_changed
from workers.supervisor import Child, Supervisor

WEB_STOP_TIMEOUT_S = 10.0
# What a worker may need beyond its drain to give back what is left.
WORKER_STOP_MARGIN_S = 10.0


class Command(BaseCommand):
    """Runs the embedded server (unless ``DTQ_REDIS_URL`` names one), the web processes and a worker with scheduler."""

    help = "Start everything on this machine: server, web and worker. Ctrl-C stops it, a second one at once."
    requires_system_checks = [SETTINGS_TAG]

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to listen and how much to start."""
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
        parser.add_argument("--port", type=int, default=8000, help="port to listen on (default: %(default)s)")
        parser.add_argument("--processes", type=int, default=1, help="web processes (default: %(default)s)")
        parser.add_argument("--concurrency", type=int, help="tasks the worker runs at once (DTQ_WORKER_CONCURRENCY)")
        parser.add_argument("--no-worker", action="store_true", help="start no worker here")
        parser.add_argument("--insecure-open", action="store_true", help="serve other machines without an API key")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until asked to stop."""
        host, port = options["host"], options["port"]
        if options["processes"] < 1:
            raise CommandError("--processes must be at least 1.")
        check_openness(host, options["insecure_open"])
        allow_own_names(host)
        listener = bind(host, port)
        server = self._start_server()
        try:
            self._prepare()
            children = _children(listener, config(), options)
            address = _reachable(listener)
            supervisor = Supervisor(
                children,
                server,
                is_ready=lambda: _answers(address),
                on_ready=lambda: self._say_hello(listener, not options["no_worker"], server),
            )
        except BaseException:
            if server is not None:
                server.stop()
            raise
        supervisor.run()
        self.stdout.write("Stopped. Nothing is left running, and the tasks are kept.")

    def _start_server(self) -> EmbeddedServer | None:
        if not config().embedded:
            return None
        server = EmbeddedServer(embedded_dir(config().data_dir))
        try:
            server.start()
        except EmbeddedServerError as error:
            raise CommandError(error.message) from error
        return server

    def _prepare(self) -> None:
        for message in checks.run_checks(tags=[SERVER_TAG]):
            self.stderr.write(str(message))
            if message.is_serious():
                raise CommandError("The server cannot be used.")
        call_command("migrate", interactive=False, verbosity=0)
        connections.close_all()
        collect_if_changed()

    def _say_hello(self, listener: socket.socket, with_worker: bool, server: EmbeddedServer | None) -> None:
        place = f"http://{_reachable(listener)}{settings.FORCE_SCRIPT_NAME or ''}"
        where = f"embedded, data in {config().data_dir}" if server else without_password(redis_url())
        if server and not server.owned:
            where += " (found running)"
        key = "" if config().open_mode else ' -H "X-API-Key: $DTQ_API_KEY"'
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
        lines += [
            "",
            "  Try it:",
            f"    curl -s {place}/api/v1/tasks{key} -H 'Content-Type: application/json' \\",
            """         -d '{"task_type": "echo", "payload": {"hello": "world"}}'""",
            "",
            "  Ctrl-C stops it.",
            "",
        ]
        self.stdout.write("\n".join(lines))


def _children(listener: socket.socket, settings: Config, options: dict[str, Any]) -> list[Child]:
    manage = [sys.executable, str(PROJECT_DIR / "manage.py")]
    web = [*manage, "runweb", "--fd", str(listener.fileno())]
    children = [
        Child(f"web {number}", web, WEB_STOP_TIMEOUT_S, pass_fds=(listener.fileno(),))
        for number in range(1, options["processes"] + 1)
    ]
    if not options["no_worker"]:
        worker = [*manage, "runworker"]
        if options["concurrency"] is not None:
            worker += ["--concurrency", str(options["concurrency"])]
        children.append(Child("worker", worker, settings.drain_timeout_s + WORKER_STOP_MARGIN_S))
    return children


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
