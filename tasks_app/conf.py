"""The settings of this process: the environment, read once, and where the queue's server is."""

from __future__ import annotations

import dataclasses
import functools
import os
from pathlib import Path

from tasks_app.domain.config import Config, config_from_env
from tasks_app.domain.redaction import Redaction

PROJECT_DIR = Path(__file__).resolve().parent.parent

# sun_path of a unix socket address holds 108 bytes, one of them the closing NUL.
MAX_SOCKET_PATH_BYTES = 107


@functools.cache
def config() -> Config:
    """The settings from ``DTQ_`` variables, read at the first call. ``data_dir`` is absolute.

    A relative ``DTQ_DATA_DIR`` counts from the project's directory, so that every command finds the same data
    whatever directory it is started in.

    Raises:
        ConfigError: a variable has a value that cannot work.
    """
    settings = config_from_env(os.environ)
    return dataclasses.replace(settings, data_dir=PROJECT_DIR / settings.data_dir.expanduser())


def redaction() -> Redaction:
    """What ``DTQ_REDACT_KEYS`` hides."""
    return _redaction(config().redact_keys)


_redaction = functools.cache(Redaction)


def redis_url() -> str:
    """The server to use: ``DTQ_REDIS_URL``, or the embedded one under the data directory. May hold a password."""
    settings = config()
    return settings.redis_url or embedded_url(settings.data_dir)


def embedded_url(data_dir: Path) -> str:
    """The address of the embedded server that keeps its data under ``data_dir``, running or not."""
    return f"unix://{embedded_socket(embedded_dir(data_dir))}"


def embedded_dir(data_dir: Path) -> Path:
    """Where the embedded server keeps its files."""
    return data_dir / "valkey"


def embedded_socket(directory: Path) -> Path:
    """The unix socket of the embedded server in ``directory``.

    Where that path is too long for the operating system, the server listens in a short private directory
    instead, which it notes in the file ``socket``; until then the answer is a path nobody listens on.
    """
    path = directory / "valkey.sock"
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES:
        return path
    try:
        return Path((directory / "socket").read_text(encoding="utf-8").strip())
    except FileNotFoundError:
        return path
