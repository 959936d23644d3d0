"""Connections to Redis or Valkey, and what their errors mean to us."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    ConnectionError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TimeoutError,
)
from redis.retry import Retry

from tasks_app.domain.address import Address, parse_address
from tasks_app.domain.errors import StoreUnavailable
from tasks_app.store import following
from tasks_app.store.routes import ClusterRoute, MasterUnknown, Route, SentinelRoute

_GONE = (ConnectionError, TimeoutError, ClusterDownError)
_ELSEWHERE = (ReadOnlyError, AskError)
"""Nothing was done, and the connection is gone: the next one goes to the master."""
_REFUSED = {
    AuthenticationError: "NOAUTH",
    BusyLoadingError: "LOADING",
    ReadOnlyError: "READONLY",
    OutOfMemoryError: "OOM",
    AskError: "MOVED",
    NoPermissionError: "NOPERM",
}
# By the first word of the error reply, which is all there is where the client library has no class for it.
_REFUSED_WORDS = {
    "NOAUTH": "Redis wants another user name or password",
    "NOPERM": "Redis does not allow its user to do this",
    "OOM": "Redis is out of memory",
    "MISCONF": "Redis cannot write to its disk",
    "READONLY": "Redis is a read-only replica",
    "MASTERDOWN": "Redis is a replica without its primary",
    "UNBLOCKED": "Redis has just become a replica",
    "NOREPLICAS": "Redis lacks the replicas it needs to accept writes",
    "BUSY": "Redis is busy with a script",
    "LOADING": "Redis is loading its data",
    "MOVED": "Redis has moved the keys to another node",
    "TRYAGAIN": "Redis is moving the keys to another node",
    "WRONGTYPE": "A key of the queue holds another kind of value than it should: somebody else has written it",
}


def connect(url: str, *, key_prefix: str = "", timeout_s: float = 5.0) -> redis.Redis:
    """A blocking client with a thread-safe pool, that follows the master where there are several servers.

    A command whose answer was lost is never sent twice: a submit may have happened, and only the caller can know
    whether repeating it is safe. One that a server refused because it is not the master is, once, to the new one.
    Replies are bytes; payloads are nobody's business here.

    Args:
        url: as ``parse_address`` takes it.
        key_prefix: in braces, it names the cluster's slot to follow. A server that is no cluster is fine as well.
        timeout_s: for connecting, and for each answer; the address may say otherwise.

    Raises:
        ConfigError: the address cannot be used.
    """
    address = parse_address(url)
    pool = redis.ConnectionPool(
        connection_class=following.KINDS[_transport(address)],
        retry=Retry(NoBackoff(), 0),
        **_options(address, key_prefix, timeout_s),
    )
    return _Client.from_pool(pool)


def connect_async(url: str, *, key_prefix: str = "", timeout_s: float = 5.0) -> redis.asyncio.Redis:
    """The same for asyncio. A blocking command must wait for less than ``timeout_s``."""
    address = parse_address(url)
    pool = redis.asyncio.ConnectionPool(
        connection_class=following.ASYNC_KINDS[_transport(address)],
        retry=AsyncRetry(NoBackoff(), 0),
        **_options(address, key_prefix, timeout_s),
    )
    return _AsyncClient.from_pool(pool)


class _Client(redis.Redis):
    def execute_command(self, *args: Any, **options: Any) -> Any:
        try:
            return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        except _ELSEWHERE:
            return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]


class _AsyncClient(redis.asyncio.Redis):
    async def execute_command(self, *args: Any, **options: Any) -> Any:
        try:
            return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        except _ELSEWHERE:
            return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]


def _transport(address: Address) -> following.Transport:
    return "unix" if address.socket else "tls" if address.tls else "tcp"


def _options(address: Address, key_prefix: str, timeout_s: float) -> dict[str, Any]:
    options = {"socket_timeout": timeout_s, "socket_connect_timeout": timeout_s, **address.options}
    if address.socket:
        place: dict[str, Any] = {"path": address.socket}
        options.pop("socket_keepalive", None)
    else:
        place = dict(zip(("host", "port"), address.nodes[0], strict=True))
    return {
        **options,
        **place,
        "route": _route(address, key_prefix, options),
        "protocol": 2,
        "decode_responses": False,
        "health_check_interval": 0,
    }


def _route(address: Address, key_prefix: str, options: dict[str, Any]) -> Route:
    if address.service:
        return SentinelRoute(address.nodes, address.service, address.sentinel_options, tls=address.tls)
    if address.nodes and key_prefix.startswith("{"):
        return ClusterRoute(address.nodes, key_prefix, options, tls=address.tls)
    return Route()


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


def is_outage(error: BaseException) -> bool:
    """True when ``error`` says that Redis was gone, or there and unable to serve, so that trying again may help."""
    return isinstance(error, RedisError) and _why_unavailable(error) is not None


def _why_unavailable(error: RedisError) -> str | None:
    """``None`` when the server is there and refuses this one command."""
    for kind, word in _REFUSED.items():
        if isinstance(error, kind):
            return _REFUSED_WORDS[word]
    if isinstance(error, following.HandshakeRefused):
        return f"Redis refuses the connection: {error}"
    if isinstance(error, MasterUnknown):
        return f"Redis cannot be found: {error}"
    if isinstance(error.__context__, ssl.SSLError):
        return f"No TLS connection to Redis: {error.__context__.reason or type(error.__context__).__name__}"
    if isinstance(error, _GONE):
        return "Redis cannot be reached"
    text = str(error)
    for word, reason in _REFUSED_WORDS.items():
        if text.startswith((f"{word} ", f"-{word}")) or f" -{word} " in text or f"error: {word} " in text:
            return reason
    return None
