"""The leader's side of statistics: minutes summed up to ten minutes, those to hours, which live longer."""

from __future__ import annotations

import redis.asyncio

from tasks_app.domain.config import Config
from tasks_app.store import codec
from tasks_app.store.connections import translating
from tasks_app.store.scripts import (
    HOUR_STATS_TTL_MS,
    MINUTE_STATS_TTL_MS,
    TEN_STATS_TTL_MS,
    Argument,
    AsyncScripts,
)
from tasks_app.store.stats import summed
from tasks_app.store.whole_hashes import whole_hashes

TEN_MS = 600_000
_TENS_KEPT = MINUTE_STATS_TTL_MS // TEN_MS
"""After a long silence only what the minutes still hold is worth summing."""
_PART = 500
"""Fields written by one script call."""


class Rollup:
    """Sums up what has ended. A sum is made anew from its parts, so a half-done one is simply done again."""

    def __init__(self, client: redis.asyncio.Redis, config: Config) -> None:
        self._client = client
        self._scripts = AsyncScripts(client, config)
        self._keys = self._scripts.keys

    async def run_once(self, token: str) -> None:
        """Sum up every ten minutes that have ended and are not summed up yet, and the hours they belong to.

        Two commands when there is none; else a few for each thousand counters, none of which holds the server.

        Raises:
            StoreUnavailable: what is summed up so far stays; the rest is for the next time.
        """
        with translating():
            rolled = await self._client.get(self._keys.rolled)
            seconds, _ = await self._client.time()
        finished = int(seconds) * 1000 // TEN_MS - 1
        for ten in range(max(codec.number(rolled), finished - _TENS_KEPT) + 1, finished + 1):
            hour = ten // 6
            await self._sum(token, "t", ten, [("m", ten * 10 + i) for i in range(10)], TEN_STATS_TTL_MS, "")
            if not await self._sum(token, "h", hour, [("t", hour * 6 + i) for i in range(6)], HOUR_STATS_TTL_MS, ten):
                return

    async def _sum(
        self, token: str, grain: str, number: int, parts: list[tuple[str, int]], ttl_ms: int, rolled: int | str
    ) -> bool:
        """Write one span's sums; ``rolled`` goes with the last of them. False when this is no longer the leader."""
        sums = list(summed(await whole_hashes(self._client, [self._keys.stats(*part) for part in parts])))
        for first in range(0, max(len(sums), 1), _PART):
            last = first + _PART >= len(sums)
            fields: list[Argument] = []
            for name, value in sums[first : first + _PART]:
                fields += (name, value)
            reply = await self._scripts.run("rollup", token, grain, number, ttl_ms, rolled if last else "", *fields)
            if reply != b"OK":
                return False
        return True
