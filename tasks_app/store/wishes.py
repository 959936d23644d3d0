"""What workers are told by operators."""

from __future__ import annotations

import redis

from tasks_app.domain.config import Config
from tasks_app.domain.errors import NotFound, WorkerLeaving
from tasks_app.domain.snapshot import Actor
from tasks_app.domain.wish import Wish
from tasks_app.store.scripts import Scripts


class Wishes:
    """Writes them where each worker looks with its heartbeat."""

    def __init__(self, client: redis.Redis, config: Config) -> None:
        self._scripts = Scripts(client, config)

    def tell(self, worker_id: str, wish: Wish, actor: Actor) -> None:
        """Have one worker be quiet, resume or stop; once more changes nothing. One script call.

        Raises:
            NotFound: no worker of this name is on the list: it has left, or never was.
            WorkerLeaving: its heartbeats have stopped; or it is to resume and stops already.
            StoreUnavailable: Redis cannot take it.
        """
        match self._scripts.run("tell", *actor.arguments, worker_id, wish):
            case b"NOT_FOUND":
                raise NotFound(f"There is no worker {worker_id}; it has left or never was")
            case b"GONE":
                raise WorkerLeaving(f"Worker {worker_id} is gone: its heartbeats have stopped", state="gone")
            case b"LEAVING":
                raise WorkerLeaving(f"Worker {worker_id} is stopping, which cannot be taken back", state="draining")
