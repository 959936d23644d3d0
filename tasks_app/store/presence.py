"""Leases kept and heartbeats sent, from a thread of their own that handler code cannot block."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import redis

from tasks_app.domain.config import Config
from tasks_app.domain.wish import STANDING, Wish
from tasks_app.store.connections import translating
from tasks_app.store.scripts import Argument, Scripts, heartbeat_ttl_ms

MAX_TYPES = 200
"""Task types that a heartbeat names; a worker that knows more says only that."""
MANY_TYPES = "*"


@dataclass(frozen=True, slots=True)
class Renewal:
    """Ids this worker no longer owns, and ids somebody wants cancelled."""

    lost: list[str]
    cancel: list[str]


class Fetching(NamedTuple):
    """Milliseconds since a worker's fetch loop last began a turn, and for which it has had room and got nothing.

    A worker that is full, or that Redis is away from, is not idle.
    """

    turned_ago_ms: int
    idle_ms: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What a worker says of itself. ``started_at_s`` is the host's clock: it is shown, and decides nothing.

    ``fetching`` and ``drain_timeout_s`` are ``None`` where nobody can say, and leave what was said before.
    """

    worker_id: str
    host: str
    pid: int
    version: str
    started_at_s: float
    state: str
    concurrency: int
    occupied: int
    queues: tuple[str, ...]
    processed: int
    failed: int
    running: tuple[str, ...] = ()
    note: str = ""
    task_types: tuple[str, ...] = ()
    fetching: Fetching | None = None
    drain_timeout_s: float | None = None


class Presence:
    """Every method raises ``StoreUnavailable`` when Redis cannot serve it."""

    def __init__(self, client: redis.Redis, config: Config) -> None:
        self._client = client
        self._scripts = Scripts(client, config)
        self._keys = self._scripts.keys
        self._ttl_ms = heartbeat_ttl_ms(config)

    def renew(self, worker_id: str, running: Sequence[tuple[str, int]]) -> Renewal:
        """Extend the leases of ``(task_id, attempt)``, never past a task's timeout plus a grace."""
        if not running:
            return Renewal([], [])
        lost, cancel = self._scripts.run("renew", worker_id, *(part for task in running for part in task))
        return Renewal([task_id.decode() for task_id in lost], [task_id.decode() for task_id in cancel])

    def heartbeat(self, beat: Heartbeat) -> Wish | None:
        """Write the worker's record, which vanishes when three beats in a row are missed. One round trip.

        Returns the wish that stands for the worker: quiet, stop or none.
        """
        fields: dict[str, Argument] = {
            "host": beat.host,
            "pid": beat.pid,
            "version": beat.version,
            "started_at": round(beat.started_at_s * 1000),
            "state": beat.state,
            "concurrency": beat.concurrency,
            "occupied": beat.occupied,
            "queues": ",".join(beat.queues),
            "processed": beat.processed,
            "failed": beat.failed,
            "running": json.dumps(beat.running),
            "note": beat.note,
            "task_types": ",".join(beat.task_types) if len(beat.task_types) <= MAX_TYPES else MANY_TYPES,
        }
        if beat.drain_timeout_s is not None:
            fields["drain_timeout_ms"] = round(beat.drain_timeout_s * 1000)
        flat = [part for field in fields.items() for part in field]
        fetching = ("", "") if beat.fetching is None else beat.fetching
        wish = self._scripts.run("heartbeat", beat.worker_id, self._ttl_ms, *fetching, *flat).decode(errors="replace")
        return Wish(wish) if wish in STANDING else None

    def leave(self, worker_id: str) -> None:
        """Take the worker off the list at once: it ended in good order."""
        with translating():
            pipe = self._client.pipeline(transaction=True)
            pipe.delete(self._keys.worker(worker_id), self._keys.told(worker_id))
            pipe.zrem(self._keys.workers, worker_id)
            pipe.execute()
