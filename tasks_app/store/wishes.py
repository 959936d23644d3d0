"""What workers are told by operators."""

from __future__ import annotations

import redis

from tasks_app.domain.config import Config
from tasks_app.domain.errors import NotFound, WorkerLeaving
from tasks_app.domain.snapshot import Actor, WorkerInfo
from tasks_app.domain.wish import Wish
from tasks_app.store import codec
from tasks_app.store.scripts import Scripts
from tasks_app.store.worker_records import decode_worker


class Wishes:
    """Writes them where each worker looks with its heartbeat."""

    def __init__(self, client: redis.Redis, config: Config) -> None:
        self._scripts = Scripts(client, config)
        self._config = config

    def tell(self, worker_id: str, wish: Wish, actor: Actor) -> WorkerInfo:
        """Have one worker be quiet, resume or stop; once more changes nothing. One script call.

        Returns the worker as it was told, which it may follow, even by leaving, before this returns.

        Raises:
            NotFound: no worker of this name is on the list: it has left, or never was.
            WorkerLeaving: its heartbeats have stopped; or it is to resume and stops already.
            StoreUnavailable: Redis cannot take it.
        """
        reply = self._scripts.run("tell", *actor.arguments, worker_id, wish)
        match reply:
            case b"NOT_FOUND":
                raise NotFound(f"There is no worker {worker_id}; it has left or never was")
            case b"GONE":
                raise WorkerLeaving(f"Worker {worker_id} is gone: its heartbeats have stopped", state="gone")
            case b"LEAVING":
                raise WorkerLeaving(f"Worker {worker_id} is stopping, which cannot be taken back", state="draining")
        now, seen_at, record, told = reply
        return decode_worker(
            worker_id, codec.moment(seen_at), _pairs(record), _pairs(told), now=now, config=self._config
        )


def _pairs(flat: list[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))
