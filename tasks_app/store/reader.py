"""The two ways in which the read side talks to Redis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import redis
import redis.client

from tasks_app.domain.config import Config
from tasks_app.store.connections import translating
from tasks_app.store.keys import Keys

Pipeline = redis.client.Pipeline


class Reader:
    """Base of the read classes. What they read raises ``StoreUnavailable`` when Redis cannot serve it."""

    def __init__(self, client: redis.Redis, config: Config) -> None:
        self._client = client
        self._config = config
        self._keys = Keys(config.key_prefix)

    def _all(self, fill: Callable[[Pipeline], object], *, snapshot: bool = False) -> list[Any]:
        """Many commands in one round trip; ``snapshot`` reads them at one moment."""
        with translating():
            pipe = self._client.pipeline(transaction=snapshot)
            fill(pipe)
            return pipe.execute()

    def _all_of_any_kind(self, fill: Callable[[Pipeline], object]) -> list[Any]:
        """Like :meth:`_all`, with ``None`` in the place of a key that holds another kind than was asked for."""
        with translating():
            pipe = self._client.pipeline(transaction=False)
            fill(pipe)
            replies: list[Any] = pipe.execute(raise_on_error=False)
            for reply in replies:
                if isinstance(reply, Exception) and "WRONGTYPE" not in str(reply):
                    raise reply
        return [None if isinstance(reply, Exception) else reply for reply in replies]

    def _one(self, command: str, *args: Any, **options: Any) -> Any:
        """One command."""
        with translating():
            return getattr(self._client, command)(*args, **options)
