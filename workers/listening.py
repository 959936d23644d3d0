"""The port that the site listens on, and who may reach it."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from argparse import ArgumentParser
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from django.core.management.base import CommandError

from tasks_app.conf import config
from workers.options import MAX_PROCESSES, check_range

HOSTS_VARIABLE = "DTQ_DJANGO_ALLOWED_HOSTS"
BACKLOG = 2048
MAX_PORT = 65_535


def add_listening_arguments(parser: ArgumentParser) -> None:
    """The options of every command that serves the site."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=1, help="web processes (default: %(default)s)")
    parser.add_argument("--insecure-open", action="store_true", help="serve other machines without an API key")


def check_listening_arguments(options: Mapping[str, Any]) -> None:
    """Refuse numbers that cannot work. ``--port 0`` takes any free port.

    Raises:
        CommandError: one is out of bounds.
    """
    check_range("--port", options["port"], 0, MAX_PORT)  # the system would take a higher one modulo 65536
    check_range("--processes", options["processes"], 1, MAX_PROCESSES)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket.

    Raises:
        CommandError: the address is taken, not ours or not allowed.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with ExitStack() as on_failure:
            listener = on_failure.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
            on_failure.pop_all()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CommandError(f"Port {port} on {host} is in use. Choose another one with --port.") from error
        raise CommandError(f"Cannot listen on {host} port {port}: {error.strerror}.") from error
    return listener


def check_openness(host: str, insecure_open: bool) -> None:
    """Open local mode is for this machine only, unless the operator insists.

    Raises:
        CommandError: other machines could use the queue without a key.
    """
    if config().open_mode and not is_loopback(host) and not insecure_open:
        raise CommandError(
            f"Without DTQ_API_KEY everyone who reaches {host} could run and cancel tasks. Set DTQ_API_KEY to a long "
            "random text, or leave out --host to serve this machine only. (--insecure-open serves all the same.)"
        )


def is_loopback(host: str) -> bool:
    """True when only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def allow_own_names(host: str) -> None:
    """Let the children of this process answer under the machine's own names, unless the operator has listed names."""
    if is_loopback(host) or os.environ.get(HOSTS_VARIABLE):
        return
    names = ["localhost", "127.0.0.1", "[::1]", socket.gethostname(), host, *_own_addresses()]
    os.environ[HOSTS_VARIABLE] = ",".join(dict.fromkeys(names))


def _own_addresses() -> list[str]:
    """The address that the machine would use towards the world. Asks the routing table; sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return []  # no network
        return [probe.getsockname()[0]]
