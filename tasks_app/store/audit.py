"""Entries of the audit for what is done outside the queue. What changes the queue writes its own, in its own step."""

from __future__ import annotations

import redis

from tasks_app.domain.config import Config
from tasks_app.domain.snapshot import Actor
from tasks_app.store.scripts import Scripts


class Audit:
    """Writes such entries."""

    def __init__(self, client: redis.Redis, config: Config) -> None:
        self._scripts = Scripts(client, config)

    def note(self, actor: Actor, action: str, target: str, detail: str = "") -> None:
        """Add one entry, ``target`` in the form ``user:ada``.

        Raises:
            StoreUnavailable: Redis cannot take it.
        """
        self._scripts.run("audit", *actor.arguments, action, target, detail)
