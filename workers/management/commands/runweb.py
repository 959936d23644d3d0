"""``manage.py runweb``: one web process."""

from __future__ import annotations

import socket
from argparse import ArgumentParser
from typing import Any

import uvicorn
from django.core.management.base import BaseCommand

from tasks_app.checks import SETTINGS_TAG
from workers.listening import bind, check_openness

# Longer than this nobody waits for an answer of this site; event streams are cut, their clients come back.
SHUTDOWN_TIMEOUT_S = 5
# Longer than the keep-alive of common proxies, so that they close idle connections first and never reuse a dead one.
KEEP_ALIVE_S = 75


class Command(BaseCommand):
    """Serves the site until SIGTERM or Ctrl-C. Start several with one ``--fd`` for several processes on one port."""

    help = "Serve the API and the console with uvicorn, in one process."
    requires_system_checks = [SETTINGS_TAG]

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to listen."""
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
        parser.add_argument("--port", type=int, default=8000, help="port to listen on (default: %(default)s)")
        parser.add_argument("--fd", type=int, help="use this listening socket instead, inherited from the parent")
        parser.add_argument("--insecure-open", action="store_true", help="serve other machines without an API key")

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve."""
        if options["fd"] is not None:
            listener = socket.socket(fileno=options["fd"])
        else:
            check_openness(options["host"], options["insecure_open"])
            listener = bind(options["host"], options["port"])
        settings = uvicorn.Config(
            "dtq_site.asgi:application",
            loop="uvloop",
            http="httptools",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_S,
        )
        uvicorn.Server(settings).run(sockets=[listener])
