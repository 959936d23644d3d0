"""Hashes read as a whole, however large they are, without one long command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis.asyncio

from tasks_app.store.connections import translating

FIELDS = 1000
"""Fields asked for in one command, which takes the server well under a millisecond or two."""


class HashScan:
    """Reads several hashes side by side; whoever owns the connection sends what it asks and hands it the replies."""

    def __init__(self, keys: Sequence[str]) -> None:
        self.found: list[dict[bytes, bytes]] = [{} for _ in keys]
        self._keys = keys
        self._cursors = dict.fromkeys(range(len(keys)), 0)

    @property
    def unfinished(self) -> bool:
        """True while some hash has more."""
        return bool(self._cursors)

    def ask(self, pipe: Any) -> None:
        """One command a hash that has more; ``pipe`` is a blocking pipeline or one of asyncio."""
        for i, cursor in self._cursors.items():
            pipe.hscan(self._keys[i], cursor, count=FIELDS)

    def take(self, replies: Sequence[Any]) -> None:
        """The answers, in the order of the commands."""
        for i, (cursor, part) in zip(list(self._cursors), replies, strict=True):
            self.found[i].update(part)
            if cursor:
                self._cursors[i] = cursor
            else:
                del self._cursors[i]


async def whole_hashes(client: redis.asyncio.Redis, keys: Sequence[str]) -> list[dict[bytes, bytes]]:
    """The hashes of ``keys`` in that order, empty where there is none. A round trip for each thousand fields.

    Raises:
        StoreUnavailable: Redis cannot serve it.
    """
    scan = HashScan(keys)
    while scan.unfinished:
        with translating():
            pipe = client.pipeline(transaction=False)
            scan.ask(pipe)
            replies = await pipe.execute()
        scan.take(replies)
    return scan.found
