"""Connections to Redis or Valkey, and what their errors mean to us."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.connection import HiredisRespSerializer
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    ConnectionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TimeoutError,
)
from redis.retry import Retry

from tasks_app.domain.errors import StoreUnavailable

_GONE = (ConnectionError, TimeoutError, ClusterDownError)
_REFUSED = {
    AuthenticationError: "NOAUTH",
    BusyLoadingError: "LOADING",
    ReadOnlyError: "READONLY",
    OutOfMemoryError: "OOM",
}
# By the first word of the error reply, which is all there is where the client library has no class for it.
_REFUSED_WORDS = {
    "NOAUTH": "Redis wants another user name or password",
    "OOM": "Redis is out of memory",
    "MISCONF": "Redis cannot write to its disk",
    "READONLY": "Redis is a read-only replica",
    "MASTERDOWN": "Redis is a replica without its primary",
    "NOREPLICAS": "Redis lacks the replicas it needs to accept writes",
    "BUSY": "Redis is busy with a script",
    "LOADING": "Redis is loading its data",
}


def connect(url: str, *, timeout_s: float = 5.0) -> redis.Redis:
    """A blocking client with a thread-safe pool.

    A command is never sent twice by the library: a submit whose answer was lost may have happened, and only the caller
    can know whether repeating it is safe. Replies are bytes; payloads are nobody's business here.
    """
    return redis.Redis.from_url(url, **_options(timeout_s), retry=Retry(NoBackoff(), 0))


def connect_async(url: str, *, timeout_s: float = 5.0) -> redis.asyncio.Redis:
    """The same for asyncio. A blocking command must wait for less than ``timeout_s``."""
    client = redis.asyncio.Redis.from_url(url, **_options(timeout_s), retry=AsyncRetry(NoBackoff(), 0))
    pool = client.connection_pool
    pool.connection_class = _packing_in_c(pool.connection_class)
    return client


def _packing_in_c(kind: type[Any]) -> type[Any]:
    """A connection that packs its commands with hiredis, as the library's blocking ones do.

    Its asyncio ones pack in Python, which took a seventh of a busy worker's processor time.
    """
    return type(kind.__name__, (kind,), {"pack_command": staticmethod(HiredisRespSerializer().pack)})


def _options(timeout_s: float) -> dict[str, Any]:
    return {
        "protocol": 2,
        "decode_responses": False,
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
        "health_check_interval": 0,
    }


@contextmanager
def translating() -> Iterator[None]:
    """Turn what the client library raises when Redis cannot serve us into ``StoreUnavailable``."""
    try:
        yield
    except (*_GONE, ResponseError) as error:
        reason = _why_unavailable(error)
        if reason is None:
            raise
        raise StoreUnavailable(reason) from error


def _why_unavailable(error: RedisError) -> str | None:
    """``None`` when the server is there and refuses this one command."""
    for kind, word in _REFUSED.items():
        if isinstance(error, kind):
            return _REFUSED_WORDS[word]
    if isinstance(error, _GONE):
        return "Redis cannot be reached"
    text = str(error)
    for word, reason in _REFUSED_WORDS.items():
        if text.startswith((f"{word} ", f"-{word}")) or f" -{word} " in text:
            return reason
    return None
