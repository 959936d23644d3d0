"""What concerns the site and no worker: the ``DTQ_DJANGO_`` variables (docs/settings.md)."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field

from tasks_app.domain.environment import read_variables

PREFIX = "DTQ_DJANGO_"
MAX_THREADS = 1000
LOOPBACK = ("127.0.0.1", "::1")
MIN_SESSION_S = 60
MAX_SESSION_S = 31_536_000


@dataclass(frozen=True, slots=True)
class Site:
    """Each variable under its lower-case name."""

    # Open local mode answers loopback names only: a foreign page must not reach it by DNS rebinding.
    allowed_hosts: tuple[str, ...] = ("localhost", ".localhost", "127.0.0.1", "[::1]")
    csrf_trusted_origins: tuple[str, ...] = ()
    script_name: str = ""
    behind_https: bool = False
    trusted_proxies: tuple[str, ...] = ()
    hsts_seconds: int = 31_536_000
    session_age_s: int = 43_200
    secret_key: str = field(default="", repr=False)
    static_dir: str = ""
    # More threads than this compete for the interpreter lock; fewer leave it idle while requests wait for Redis.
    threads: int = 16
    debug: bool = False

    @property
    def proxies(self) -> tuple[str, ...]:
        """Whose ``X-Forwarded-For`` and ``X-Forwarded-Proto`` count: with TLS in front, at least this machine's."""
        return self.trusted_proxies or (LOOPBACK if self.behind_https else ())


def site_from_env(env: Mapping[str, str]) -> tuple[Site, list[str]]:
    """The site's settings, and what is wrong with the variables; with anything wrong the defaults hold.

    Django's own settings are no place to raise in: what is wrong is told by ``manage.py check`` and every command.
    """
    values, problems = read_variables(env, PREFIX, Site)
    site = Site(**values)
    if any("/" in host for host in site.allowed_hosts):
        problems.append(f"{PREFIX}ALLOWED_HOSTS must be host names, without a scheme or a path")
    if site.script_name and not site.script_name.startswith("/"):
        problems.append(f"{PREFIX}SCRIPT_NAME must begin with a slash, not {site.script_name!r}")
    if site.hsts_seconds < 0:
        problems.append(f"{PREFIX}HSTS_SECONDS must be 0 or more, not {site.hsts_seconds}")
    for proxy in site.trusted_proxies:
        if not _is_network(proxy):
            problems.append(f"{PREFIX}TRUSTED_PROXIES must be addresses or networks such as 10.0.0.0/8, not {proxy!r}")
    for origin in site.csrf_trusted_origins:
        if not origin.startswith(("https://", "http://")):
            problems.append(f"{PREFIX}CSRF_TRUSTED_ORIGINS must be origins such as https://dtq.example, not {origin!r}")
    if not MIN_SESSION_S <= site.session_age_s <= MAX_SESSION_S:
        problems.append(f"{PREFIX}SESSION_AGE_S must be {MIN_SESSION_S}..{MAX_SESSION_S}, not {site.session_age_s}")
    if not 1 <= site.threads <= MAX_THREADS:
        problems.append(f"{PREFIX}THREADS must be 1..{MAX_THREADS}, not {site.threads}")
    return (Site() if problems else site), problems


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True
