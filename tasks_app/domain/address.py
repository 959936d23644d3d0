"""The address of the queue's server: every form of ``DTQ_REDIS_URL`` that is understood."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tasks_app.domain.errors import ConfigError

REDIS_PORT = 6379
SENTINEL_PORT = 26_379
_SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel")
_DATABASE = re.compile(r"/?(\d{0,9})")
_SERVICE = re.compile(r"/([A-Za-z0-9._-]+)(?:/(\d{0,9}))?")
_FORM = "must have the form redis://user:password@host:6379/0, with / ? # @ : of a password as %2F %3F %23 %40 %3A"
_SENTINEL_FORM = "must have the form redis+sentinel://user:password@host:26379,host:26379/service/0"


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server is and how to log in.

    ``nodes`` are (host, port): the server, several nodes of a cluster, or the sentinels that know the master of
    ``service``. With ``socket``, a path, there are none. ``options`` go to each connection of the server,
    ``sentinel_options`` to those of the sentinels, both under redis-py's names.
    """

    nodes: tuple[tuple[str, int], ...] = ()
    socket: str = ""
    service: str = ""
    tls: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    sentinel_options: Mapping[str, Any] = field(default_factory=dict)


def parse_address(url: str) -> Address:
    """Take a server's address apart.

    Raises:
        ConfigError: what is wrong with it, to be read after the setting's name. Shows no part of the address: a
            password may be where nothing expects one.
    """
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in _SCHEMES:
        raise ConfigError(f"must start with {', '.join(f'{known}://' for known in _SCHEMES[:-1])} or {_SCHEMES[-1]}://")
    sentinel, tls = scheme.endswith("+sentinel"), scheme.startswith("rediss")
    form = _SENTINEL_FORM if sentinel else _FORM
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ConfigError(form) from None
    if "@" in f"{parts.path}{parts.query}{parts.fragment}" or parts.fragment:
        raise ConfigError(form)
    user, _, hosts = parts.netloc.rpartition("@")
    options = _login(user) | _query(parts.query, tls=tls, sentinel=sentinel)
    sentinels = {name: options.pop(name) for name in tuple(options) if name.startswith("sentinel_")}
    if scheme == "unix":
        if hosts or not parts.path:
            raise ConfigError("must name a socket by its whole path, such as unix:///run/valkey.sock")
        return Address(socket=unquote(parts.path), options=options)
    nodes = tuple(_node(host, SENTINEL_PORT if sentinel else REDIS_PORT, form) for host in hosts.split(","))
    if not sentinel:
        database = _DATABASE.fullmatch(parts.path)
        if database is None:
            raise ConfigError("must end with the number of a database, such as /0, or with nothing")
        if len(nodes) > 1 and (int(database[1] or 0) or options.get("db")):
            raise ConfigError("names several nodes of a cluster, which has the database 0 only")
        return Address(nodes, tls=tls, options=_database(database[1]) | options)
    service = _SERVICE.fullmatch(parts.path)
    if service is None or not hosts:
        raise ConfigError(form)
    return Address(
        nodes,
        service=service[1],
        tls=tls,
        options=_database(service[2]) | options,
        sentinel_options={name.removeprefix("sentinel_"): value for name, value in sentinels.items()}
        | {name: value for name, value in options.items() if name.startswith("ssl_")},
    )


def _login(user: str) -> dict[str, str]:
    name, _, password = user.partition(":")
    return {k: unquote(v) for k, v in (("username", name), ("password", password)) if v}


def _database(digits: str | None) -> dict[str, int]:
    return {"db": int(digits)} if digits else {}


def _node(text: str, port: int, form: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        found = (unquote(parts.hostname or ""), port if parts.port is None else parts.port)
    except ValueError:
        raise ConfigError(form) from None
    if found[1] == 0:
        raise ConfigError(form)
    return found[0] or "localhost", found[1]


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise ValueError
    return int(text)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0.01 <= seconds <= 3600:
        raise ValueError
    return seconds


def _switch(text: str) -> bool:
    return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[text.lower()]


def _file(text: str) -> str:
    if not Path(text).is_file():
        raise ValueError
    return text


def _one_of(*words: str) -> Callable[[str], str]:
    return lambda text: words[words.index(text.lower())]


_OPTIONS: dict[str, tuple[Callable[[str], Any], str]] = {
    "db": (_number, "the number of a database"),
    "username": (str, "a name"),
    "password": (str, "a password"),
    "sentinel_username": (str, "a name"),
    "sentinel_password": (str, "a password"),
    "client_name": (str, "a name"),
    "socket_timeout": (_seconds, "0.01..3600 seconds"),
    "socket_connect_timeout": (_seconds, "0.01..3600 seconds"),
    "socket_keepalive": (_switch, "true or false"),
    "ssl_ca_certs": (_file, "a file that is there"),
    "ssl_certfile": (_file, "a file that is there"),
    "ssl_keyfile": (_file, "a file that is there"),
    "ssl_cert_reqs": (_one_of("required", "optional", "none"), "required, optional or none"),
    "ssl_check_hostname": (_switch, "true or false"),
}


def _query(query: str, *, tls: bool, sentinel: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name not in _OPTIONS:
            raise ConfigError(f"has an option that is not known; those are {', '.join(_OPTIONS)}")
        if name.startswith("ssl_") and not tls:
            raise ConfigError(f"has {name}, which only rediss:// and rediss+sentinel:// know")
        if name.startswith("sentinel_") and not sentinel:
            raise ConfigError(f"has {name}, which only redis+sentinel:// and rediss+sentinel:// know")
        parse, rule = _OPTIONS[name]
        try:
            found[name] = parse(text)
        except (ValueError, KeyError):
            raise ConfigError(f"has an option {name} that must be {rule}") from None
    if "ssl_keyfile" in found and "ssl_certfile" not in found:
        raise ConfigError("has ssl_keyfile without ssl_certfile")
    return found
