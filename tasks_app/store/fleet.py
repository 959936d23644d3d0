"""Queues, workers, the leader and the server, as they are now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import compress

from redis.exceptions import ResponseError

from tasks_app.domain.api_key import EVERYWHERE, Reach
from tasks_app.domain.errors import NotFound, StoreUnavailable
from tasks_app.domain.snapshot import Page, QueueInfo, ServerInfo, WorkerInfo
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.submission import QUEUE_PATTERN
from tasks_app.store import codec
from tasks_app.store.connections import translating
from tasks_app.store.cursor import page_of_names
from tasks_app.store.keys import GROUP
from tasks_app.store.reader import Pipeline
from tasks_app.store.stats import Stats
from tasks_app.store.waiting import Waiting
from tasks_app.store.worker_records import decode_worker

_WAITING = (TaskStatus.QUEUED, TaskStatus.PENDING, TaskStatus.RETRYING)


class Fleet(Stats, Waiting):
    """Reads that concern no single task."""

    def queues(self) -> list[QueueInfo]:
        """Every queue by name, without its bands, for what :meth:`queue_page` costs."""
        return self.queue_page().items

    def queue_page(
        self, cursor: str | None = None, limit: int | None = None, reach: Reach = EVERYWHERE
    ) -> Page[QueueInfo]:
        """Queues by name, without their bands; ``limit`` ``None`` means all that follow.

        Four round trips, six commands a queue and two a lane that may hold something undelivered.

        Raises:
            InvalidCursor: ``cursor`` is not one of ours.
        """
        names, lanes = self._all(lambda pipe: (pipe.smembers(self._keys.queues), pipe.smembers(self._keys.ready)))
        valid = filter(QUEUE_PATTERN.fullmatch, map(codec.name, names))
        page = page_of_names("queue", filter(reach.covers, valid), cursor, limit)
        shown = set(page.items)
        ready = [lane for lane in map(codec.name, lanes) if lane.rpartition(":")[0] in shown]
        return Page(self._queue_infos(page.items, ready), page.next)

    def queue(self, name: str) -> QueueInfo:
        """One queue with its bands. Six round trips.

        Raises:
            NotFound: no task ever named it.
        """
        lanes = [f"{name}:p{band}" for band in range(10)]
        known, ready = self._all(
            lambda pipe: (pipe.sismember(self._keys.queues, name), pipe.smismember(self._keys.ready, lanes))
        )
        if not known:
            raise NotFound(f"There is no queue {name}")
        (info,) = self._queue_infos([name], compress(lanes, ready))
        return replace(info, bands=self._bands(name))

    def task_types(self) -> list[str]:
        """The types that some task has. One round trip."""
        return sorted(map(codec.name, self._one("smembers", self._keys.types)))

    def workers(self) -> list[WorkerInfo]:
        """Workers by id, those included whose heartbeat has just stopped. Two round trips."""
        return self.worker_page().items

    def worker_page(self, cursor: str | None = None, limit: int | None = None) -> Page[WorkerInfo]:
        """The same in pages; ``limit`` ``None`` means all that follow. Two round trips.

        Raises:
            InvalidCursor: ``cursor`` is not one of ours.
        """
        seen = self._one("zrange", self._keys.workers, 0, -1, withscores=True)
        seen_at = {codec.name(worker_id): codec.moment(at) for worker_id, at in seen}
        page = page_of_names("worker", seen_at, cursor, limit)

        def read(pipe: Pipeline) -> None:
            pipe.time()
            for worker_id in page.items:
                pipe.hgetall(self._keys.worker(worker_id))
                pipe.hgetall(self._keys.told(worker_id))

        time, *found = self._all(read)
        now = time[0] * 1000 + time[1] // 1000
        records, wishes = found[::2], found[1::2]
        infos = [
            decode_worker(worker_id, seen_at[worker_id], record, told, now=now, config=self._config)
            for worker_id, record, told in zip(page.items, records, wishes, strict=True)
        ]
        return Page(infos, page.next)

    def worker(self, worker_id: str) -> WorkerInfo:
        """One worker. Raises NotFound. One round trip."""

        def read(pipe: Pipeline) -> None:
            pipe.time()
            pipe.zscore(self._keys.workers, worker_id)
            pipe.hgetall(self._keys.worker(worker_id))
            pipe.hgetall(self._keys.told(worker_id))

        time, seen_at, record, told = self._all(read)
        if seen_at is None:
            raise NotFound(f"There is no worker {worker_id}")
        now = time[0] * 1000 + time[1] // 1000
        return decode_worker(worker_id, codec.moment(seen_at), record, told, now=now, config=self._config)

    def leader(self) -> str | None:
        """The worker or scheduler that leads, if any. One round trip."""
        lock = self._one("get", self._keys.lock)
        return codec.name(lock).partition(" ")[2] if lock else None

    def server(self) -> ServerInfo:
        """The server's version and condition. Two round trips."""

        def read(pipe: Pipeline) -> None:
            pipe.info()
            pipe.time()

        info, time = self._all(read)
        try:
            saves: bool | None = bool(self._one("config_get", "save").get(b"save"))
        except (ResponseError, StoreUnavailable):
            saves = None  # hosted servers and ACLs keep CONFIG to themselves
        return ServerInfo(
            product="Valkey" if "valkey_version" in info else "Redis",
            version=str(info.get("valkey_version") or info.get("redis_version", "")),
            used_memory=int(info.get("used_memory", 0)),
            max_memory=int(info.get("maxmemory", 0)),
            eviction_policy=str(info.get("maxmemory_policy", "noeviction")),
            aof=bool(info.get("aof_enabled")),
            cluster=bool(info.get("cluster_enabled")),
            loading=bool(info.get("loading")),
            snapshots=saves,
            clients=int(info.get("connected_clients", 0)),
            uptime_s=int(info.get("uptime_in_seconds", 0)),
            now=time[0] * 1000 + time[1] // 1000,
        )

    def _queue_infos(self, names: Sequence[str], lanes: Iterable[str]) -> list[QueueInfo]:
        def read(pipe: Pipeline) -> None:
            for name in names:
                for status in (*_WAITING, TaskStatus.DEAD_LETTERED):
                    pipe.zcard(self._keys.index(status, queue=name))
                pipe.hget(self._keys.running, f"q:{name}")
                pipe.get(self._keys.paused(name))

        replies = self._all(read) if names else []
        firsts = self.enqueued_first(lanes)
        infos = []
        for i, name in enumerate(names):
            queued, pending, retrying, dead, running, pause = replies[i * 6 : i * 6 + 6]
            infos.append(
                QueueInfo(
                    name=name,
                    queued=queued,
                    pending=pending,
                    retrying=retrying,
                    running=codec.number(running),
                    dead_lettered=dead,
                    oldest_at=firsts.get(name),
                    pause=codec.decode_pause(pause),
                )
            )
        return infos

    def _bands(self, name: str) -> dict[int, int]:
        streams = [self._keys.stream(name, band) for band in range(9, -1, -1)]

        def lengths(pipe: Pipeline) -> None:
            for stream in streams:
                pipe.xlen(stream)

        totals = self._all(lengths)
        # XPENDING needs the group, which a lane gets with its first claim.
        waiting = {}
        with translating():
            pipe = self._client.pipeline(transaction=False)
            for stream in streams:
                pipe.xpending(stream, GROUP)
            pending = pipe.execute(raise_on_error=False)
        for band, total, summary in zip(range(9, -1, -1), totals, pending, strict=True):
            delivered = 0 if isinstance(summary, Exception) else int(summary["pending"])
            waiting[band] = max(0, total - delivered)
        return waiting
