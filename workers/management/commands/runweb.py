"""``manage.py runweb``: the web processes."""

from __future__ import annotations

import socket
from argparse import ArgumentParser
from typing import Any

import uvicorn
from django.conf import settings

from tasks_app.checks import SETTINGS_TAG
from workers.allocator import use_few_arenas
from workers.listening import (
    add_listening_arguments,
    allow_own_names,
    bind,
    check_listening_arguments,
    check_openness,
)
from workers.long_command import LongCommand
from workers.supervisor import Supervisor
from workers.web import SHUTDOWN_TIMEOUT_S, web_children

# Longer than the keep-alive of common proxies, so that they close idle connections first and never reuse a dead one.
KEEP_ALIVE_S = 75


class Command(LongCommand):
    """Serves the site until SIGTERM or Ctrl-C."""

    help = "Serve the API and the console with uvicorn."
    requires_system_checks = [SETTINGS_TAG]

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to listen."""
        add_listening_arguments(parser)
        parser.add_argument("--fd", type=int, help="serve this listening socket of the parent, in this process")

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve."""
        if options["fd"] is not None:
            use_few_arenas()  # before the first thread
            _serve(socket.socket(fileno=options["fd"]))
            return
        check_listening_arguments(options)
        check_openness(options["host"], options["insecure_open"])
        allow_own_names(options["host"])
        listener = bind(options["host"], options["port"])
        Supervisor([web_children(listener, options["processes"])]).run()


def _serve(listener: socket.socket) -> None:
    server = uvicorn.Config(
        "dtq_site.asgi:application",
        loop="uvloop",
        http="dtq_site.http_protocol:BoundedHttpProtocol",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.SITE.proxies),
        forwarded_allow_ips=list(settings.SITE.proxies),
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_S,
    )
    uvicorn.Server(server).run(sockets=[listener])
