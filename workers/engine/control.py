"""Hears at once what the renewals would tell within a second: cancel requests, by pub/sub."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import redis.asyncio
import redis.exceptions
import structlog

from tasks_app.domain.errors import StoreUnavailable

log = structlog.get_logger(__name__)

PING_EVERY_S = 15.0
PONG_WITHIN_S = 5.0


class ControlChannel:
    """A subscription to one worker's channel. A message is ``{"cancel": "<task id>"}``.

    A dead subscriber is silent, not broken (redis-py answers ``None`` for ever), so it pings: no answer in time counts
    as a failure. Each ``listen`` subscribes anew, on a connection of its own, and listens until that fails.
    """

    def __init__(self, client: redis.asyncio.Redis, channel: str) -> None:
        self._client = client
        self._channel = channel

    async def listen(self, on_cancel: Callable[[str], None]) -> None:
        """Subscribe and hand on each task id; returns only by raising.

        Raises:
            StoreUnavailable: the connection broke or fell silent.
        """
        try:
            async with self._client.pubsub() as pubsub:
                await pubsub.subscribe(self._channel)
                await self._hear(pubsub, on_cancel)
        except (redis.exceptions.RedisError, OSError) as error:
            raise StoreUnavailable(f"The control channel broke: {error}") from error

    async def _hear(self, pubsub: redis.asyncio.client.PubSub, on_cancel: Callable[[str], None]) -> None:
        loop = asyncio.get_running_loop()
        heard_at = loop.time()
        pinged = False
        while True:
            message = await pubsub.get_message(timeout=PONG_WITHIN_S if pinged else PING_EVERY_S)
            if message is not None:
                heard_at, pinged = loop.time(), False
                if message["type"] == "message":
                    _obey(message["data"], on_cancel)
            elif pinged and loop.time() - heard_at > PING_EVERY_S + PONG_WITHIN_S / 2:
                raise StoreUnavailable("The control channel fell silent")
            elif not pinged:
                await pubsub.ping()
                pinged = True


def _obey(data: bytes, on_cancel: Callable[[str], None]) -> None:
    try:
        task_id = json.loads(data)["cancel"]
    except (ValueError, TypeError, KeyError):
        log.warning("CONTROL_MESSAGE_IGNORED", size=len(data))
        return
    on_cancel(str(task_id))
