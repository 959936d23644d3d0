"""Hears by pub/sub, and so at once, what renewals and heartbeats would tell a little later."""

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
    """A subscription to one worker's channel.

    A message is ``{"cancel": "<task id>"}``, or ``{"told": true}``: operators want something of the worker, and its
    next heartbeat tells what. Messages may be lost, so none is the only one to say what it says.

    A dead subscriber is silent, not broken (redis-py answers ``None`` for ever), so a silence is broken with a ping,
    and no answer in time counts as a failure. The next ``run_once`` then subscribes anew, on a fresh connection.
    """

    def __init__(self, client: redis.asyncio.Redis, channel: str) -> None:
        self._client = client
        self._channel = channel
        self._pubsub: redis.asyncio.client.PubSub | None = None
        self._pinged = False

    async def run_once(self, on_cancel: Callable[[str], None], on_told: Callable[[], None]) -> None:
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
            message = await self._next(self._pubsub)
        except (redis.exceptions.RedisError, OSError) as error:
            await self.close()
            raise StoreUnavailable(f"The control channel broke: {error}") from error
        if message is not None:
            _obey(message, on_cancel, on_told)

    async def _next(self, pubsub: redis.asyncio.client.PubSub) -> bytes | None:
        message = await pubsub.get_message(timeout=PONG_WITHIN_S if self._pinged else PING_EVERY_S)
        if message is not None:
            self._pinged = False
            return message["data"] if message["type"] == "message" else None
        if self._pinged:
            raise redis.exceptions.TimeoutError("no answer to a ping")
        await pubsub.ping()
        self._pinged = True
        return None

    async def close(self) -> None:
        """Leave the channel."""
        pubsub, self._pubsub = self._pubsub, None
        if pubsub is not None:
            with suppress(redis.exceptions.RedisError, OSError):  # it may be broken, which is why it is closed
                await pubsub.aclose()  # type: ignore[no-untyped-call]  # redis-py leaves it so


def _obey(data: bytes, on_cancel: Callable[[str], None], on_told: Callable[[], None]) -> None:
    try:
        [(word, value)] = json.loads(data).items()
    except (ValueError, AttributeError):
        word, value = "", None
    if word == "cancel":
        on_cancel(str(value))
    elif word == "told":
        on_told()
    else:
        log.warning("CONTROL_MESSAGE_IGNORED", size=len(data))
