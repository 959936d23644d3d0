"""How long queued tasks have waited for a worker, by the streams themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from redis.exceptions import ResponseError

from tasks_app.domain.task import Task
from tasks_app.store import codec
from tasks_app.store.connections import translating
from tasks_app.store.cursor import ENTRY
from tasks_app.store.keys import GROUP
from tasks_app.store.reader import Pipeline, Reader


class Lanes(NamedTuple):
    """Lanes ``<queue>:p<priority>``: with a consumer group; without, until a claim makes it; keys of another kind."""

    grouped: list[str]
    groupless: list[str]
    broken: list[str]


class Waiting(Reader):
    """Reads the lanes that may hold something undelivered."""

    def now(self) -> int:
        """Epoch milliseconds by Redis' clock. One round trip."""
        seconds, micros = self._one("time")
        return int(seconds) * 1000 + int(micros) // 1000

    def oldest_waits(self) -> dict[str, int]:
        """Queue -> ms since :meth:`enqueued_first`; queues without one are left out. Three round trips."""
        (seconds, micros), members = self._all(lambda pipe: (pipe.time(), pipe.smembers(self._keys.ready)))
        now = seconds * 1000 + micros // 1000
        return {queue: max(0, now - at) for queue, at in self.enqueued_first(map(codec.name, members)).items()}

    def enqueued_first(self, lanes: Iterable[str]) -> dict[str, int]:
        """Queue -> when its longest waiting task entered its stream; queues without one are left out.

        By the undelivered entries of ``lanes`` (``<queue>:p<priority>``, those of ``dtq:ready``), so a retry, a delayed
        and a requeued task wait from when they were enqueued and not from their birth. Two round trips and two
        commands a lane; none without lanes.
        """
        lanes = sorted(lanes)
        if not lanes:
            return {}
        streams = [self._keys.lane(lane) for lane in lanes]
        starts = [_after(reply) for reply in self._groups(streams)]

        def read(pipe: Pipeline) -> None:
            for stream, start in zip(streams, starts, strict=True):
                pipe.xrange(stream, start, "+", count=1)

        firsts: dict[str, int] = {}
        for lane, entries in zip(lanes, self._all_of_any_kind(read), strict=True):
            if entries:
                queue = lane.rpartition(":")[0]
                at = int(entries[0][0].partition(b"-")[0])
                firsts[queue] = min(at, firsts.get(queue, at))
        return firsts

    def startable_waits(self) -> dict[str, int]:
        """The same without paused queues. Four round trips."""
        waits = self.oldest_waits()
        if not waits:
            return {}

        def read(pipe: Pipeline) -> None:
            for queue in waits:
                pipe.exists(self._keys.paused(queue))

        return {queue: ms for (queue, ms), paused in zip(waits.items(), self._all(read), strict=True) if not paused}

    def ahead(self, task: Task, most: int) -> int | None:
        """How many tasks of its band a queued task waits behind, by the entries before its own; at most ``most``.

        ``None`` when it has no entry. Three round trips.
        """
        stream = self._keys.stream(task.queue, task.priority)
        (entry,) = self._all_of_any_kind(lambda pipe: pipe.hget(self._keys.task(task.id), "entry"))
        if entry is None or ENTRY.fullmatch(codec.name(entry)) is None:
            return None
        start = _after(self._groups([stream])[0])
        (before,) = self._all_of_any_kind(lambda pipe: pipe.xrange(stream, start, f"({codec.name(entry)}", count=most))
        return None if before is None else len(before)

    def lanes_by_group(self) -> Lanes:
        """The lanes that may hold something undelivered, by whether workers can read them. Two round trips."""
        lanes = sorted(map(codec.name, self._one("smembers", self._keys.ready)))
        replies = self._groups([self._keys.lane(lane) for lane in lanes]) if lanes else []
        found = Lanes([], [], [])
        for lane, reply in zip(lanes, replies, strict=True):
            if isinstance(reply, ResponseError) and str(reply).startswith("WRONGTYPE"):
                found.broken.append(lane)
            elif isinstance(reply, list) and any(group["name"] == GROUP.encode() for group in reply):
                found.grouped.append(lane)
            else:
                found.groupless.append(lane)
        return found

    def _groups(self, streams: list[str]) -> list[object]:
        with translating():
            pipe = self._client.pipeline(transaction=False)
            for stream in streams:
                pipe.xinfo_groups(stream)
            replies: list[object] = pipe.execute(raise_on_error=False)
            for reply in replies:
                if isinstance(reply, Exception) and not isinstance(reply, ResponseError):
                    raise reply
            return replies


def _after(groups: object) -> str:
    """From where a lane is undelivered: all of it before its first claim, which makes the group."""
    if isinstance(groups, list):
        for group in groups:
            if group["name"] == GROUP.encode():
                return f"({group['last-delivered-id'].decode()}"
    return "-"
