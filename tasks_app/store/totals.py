"""Counters that never fall: every minute's statistics, added up for good.

Statistics of minutes expire; a counter for Prometheus must not. The leader adds each ended minute to one hash of totals
(:class:`Fold`), and a reader adds the minutes after that itself (:class:`Totals`). A total carries the last minute that
it holds, so a reader that meets a fold half done counts nothing twice and misses nothing, without a lock.

Types are as many as clients invent, series are not: ``MAX_SERIES`` pairs of queue and type have totals of their own,
first come, first served; what comes later is summed as type ``other`` of its queue.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Iterator, Mapping
from typing import Any, cast

import redis.asyncio

from tasks_app.domain.config import Config
from tasks_app.store import codec
from tasks_app.store.connections import translating
from tasks_app.store.reader import Reader
from tasks_app.store.scripts import MINUTE_STATS_TTL_MS, OTHER_TYPES, AsyncScripts
from tasks_app.store.stats import SEPARATORS
from tasks_app.store.whole_hashes import HashScan, whole_hashes

MAX_SERIES = 1000
"""Pairs of queue and type with counters of their own."""

Pair = tuple[str, str]
"""A queue and a task type."""

_SAMPLES = frozenset({"depth", "oldest"})
_MINUTE_MS = 60_000
_MINUTES_KEPT = MINUTE_STATS_TTL_MS // _MINUTE_MS
_SETTLED_AFTER = 2
"""Minutes; one more than it takes to end, so that a server whose clock steps back a little loses nothing."""
_PART = 500
"""Fields written by one script call."""


def by_series(minute: Mapping[str, int], known: set[Pair]) -> dict[str, int]:
    """One minute's fields as amounts to add to totals, in the order in which new pairs take their places.

    ``known`` holds the pairs that have a place; those that get one now are added to it. Leader and readers come to the
    same places, because both go through the minutes in order and through a minute's fields by name.
    """
    amounts: dict[str, int] = {}
    for name in sorted(minute):
        queue, task_type, measure = name.split("|", 2)
        if measure in _SAMPLES:
            continue
        pair = (queue, task_type)
        if task_type != OTHER_TYPES and pair not in known:
            if len(known) < MAX_SERIES:
                known.add(pair)
            else:
                task_type = OTHER_TYPES
        field = f"{queue}|{task_type}|{measure}"
        amounts[field] = amounts.get(field, 0) + minute[name]
    return amounts


def add_up(
    totals: Mapping[bytes, bytes], minutes: Iterable[tuple[int, Mapping[bytes, bytes]]]
) -> dict[Pair, dict[str, int]]:
    """Totals, each with the minutes after the last one that it holds: per pair the measures and their sums.

    ``minutes``, in order, must begin with the first that some total may lack.
    """
    values: dict[str, int] = {}
    through: dict[str, int] = {}
    known: set[Pair] = set()
    for name, text in totals.items():
        field = codec.name(name)
        if field.count("|") != SEPARATORS:
            continue  # none of ours
        total, _, last = text.partition(b" ")
        values[field], through[field] = codec.number(total), codec.number(last)
        queue, task_type, _ = field.split("|", 2)
        if task_type != OTHER_TYPES:
            known.add((queue, task_type))
    for minute, record in minutes:
        for field, amount in by_series(_counts(record), known).items():
            if minute > through.get(field, -1):
                values[field] = values.get(field, 0) + amount
    sums: dict[Pair, dict[str, int]] = {}
    for field, value in values.items():
        queue, task_type, measure = field.split("|", 2)
        sums.setdefault((queue, task_type), {})[measure] = value
    return sums


def _counts(fields: Mapping[bytes, bytes]) -> dict[str, int]:
    return {codec.name(field): codec.number(text) for field, text in fields.items() if field.count(b"|") == SEPARATORS}


class Totals(Reader):
    """Reads the counters."""

    def totals(self) -> dict[Pair, dict[str, int]]:
        """Per queue and type what was counted since the beginning: the measures of ``lua/lib/stats.lua`` -> sum.

        One command for each thousand counters, and one for each thousand fields of the two or three minutes that the
        leader has not added yet; without a leader these grow to eight hours.
        """
        counted, (seconds, _) = self._all(lambda pipe: (pipe.get(self._keys.counted), pipe.time()))
        newest = seconds * 1000 // _MINUTE_MS
        (fields,) = self._hashes([self._keys.totals])
        minutes = range(max(codec.number(counted), newest - _MINUTES_KEPT) + 1, newest + 1)
        records = self._hashes([self._keys.stats("m", minute) for minute in minutes])
        return add_up(fields, zip(minutes, records, strict=True))

    def _hashes(self, keys: list[str]) -> list[dict[bytes, bytes]]:
        scan = HashScan(keys)
        while scan.unfinished:
            scan.take(self._all(scan.ask))
        return scan.found


class Fold:
    """The leader's side: adds ended minutes to the totals."""

    def __init__(self, client: redis.asyncio.Redis, config: Config) -> None:
        self._client = client
        self._scripts = AsyncScripts(client, config)
        self._keys = self._scripts.keys

    async def run_once(self, token: str) -> None:
        """Add every minute that has ended and is not added yet. Two round trips when there is none.

        Raises:
            StoreUnavailable: what is added so far stays; the rest is for the next time.
        """
        with translating():
            counted = await self._client.get(self._keys.counted)
            seconds, _ = await self._client.time()
        last = int(seconds) * 1000 // _MINUTE_MS - _SETTLED_AFTER
        first = max(codec.number(counted), last - _MINUTES_KEPT) + 1
        if first > last:
            return
        with translating():
            pipe = self._client.pipeline(transaction=False)
            for minute in range(first, last + 1):
                pipe.exists(self._keys.stats("m", minute))
            there = await pipe.execute()
            members = await cast(Awaitable[set[bytes]], self._client.smembers(self._keys.series))
        known = {_pair(codec.name(member)) for member in members if b"|" in member}
        for minute, found in zip(range(first, last + 1), there, strict=True):
            if not found:
                continue
            (record,) = await whole_hashes(self._client, [self._keys.stats("m", minute)])
            amounts = by_series(_counts(record), known)
            for part, is_last in _parts(amounts):
                if not await self._add(token, minute, part, is_last):
                    return
        await self._add(token, last, [], True)

    async def _add(self, token: str, minute: int, amounts: list[tuple[str, int]], is_last: bool) -> bool:
        flat = [part for amount in amounts for part in amount]
        reply: Any = await self._scripts.run("count", token, minute, int(is_last), *flat)
        return bool(reply == b"OK")


def _pair(member: str) -> Pair:
    queue, _, task_type = member.partition("|")
    return queue, task_type


def _parts(amounts: Mapping[str, int]) -> Iterator[tuple[list[tuple[str, int]], bool]]:
    items = list(amounts.items())
    for start in range(0, len(items), _PART):
        yield items[start : start + _PART], start + _PART >= len(items)
