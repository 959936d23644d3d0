"""Hears at once what the renewals would tell within a second: cancel requests, by pub/sub."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress

import redis.asyncio
import redis.exceptions
import structlog

from tasks_app.domain.errors import StoreUnavailable

log = structlog.get_logger(__name__)

PING_EVERY_S = 15.0
PONG_WITHIN_S = 5.0


class ControlChannel:
    """A subscription to one worker's channel. A message is ``{"cancel": "<task id>"}``.

    A dead subscriber is silent, not broken (redis-py answers ``None`` for ever), so a silence is broken with a ping,
    and no answer in time counts as a failure. The next ``run_once`` then subscribes anew, on a fresh connection.
    """

    def __init__(self, client: redis.asyncio.Redis, channel: str) -> None:
        self._client = client
        self._channel = channel
        self._pubsub: redis.asyncio.client.PubSub | None = None
        self._pinged = False

    async def run_once(self, on_cancel: Callable[[str], None]) -> None:
        """Subscribe if need be, then hear one message or fifteen seconds of silence.

        Raises:
            StoreUnavailable: the connection broke or does not answer.
        """
        try:
            if self._pubsub is None:
                self._pubsub = self._client.pubsub()
                self._pinged = False
                await self._pubsub.subscribe(self._channel)
                return
            await self._hear(self._pubsub, on_cancel)
        except (redis.exceptions.RedisError, OSError) as error:
            await self.close()
            raise StoreUnavailable(f"The control channel broke: {error}") from error

    async def _hear(self, pubsub: redis.asyncio.client.PubSub, on_cancel: Callable[[str], None]) -> None:
        message = await pubsub.get_message(timeout=PONG_WITHIN_S if self._pinged else PING_EVERY_S)
        if message is not None:
            self._pinged = False
            if message["type"] == "message":
                _obey(message["data"], on_cancel)
        elif self._pinged:
            raise redis.exceptions.TimeoutError("no answer to a ping")
        else:
            await pubsub.ping()
            self._pinged = True

    async def close(self) -> None:
        """Leave the channel."""
        pubsub, self._pubsub = self._pubsub, None
        if pubsub is not None:
            with suppress(redis.exceptions.RedisError, OSError):  # it may be broken, which is why it is closed
                await pubsub.aclose()  # type: ignore[no-untyped-call]  # redis-py leaves it so


def _obey(data: bytes, on_cancel: Callable[[str], None]) -> None:
    try:
        task_id = json.loads(data)["cancel"]
    except (ValueError, TypeError, KeyError):
        log.warning("CONTROL_MESSAGE_IGNORED", size=len(data))
        return
    on_cancel(str(task_id))
