"""One subscription to the events channel per process, shared by every open stream."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import redis.asyncio
import structlog
from redis.exceptions import RedisError

from tasks_app.live.topics import Change, decode_message, merge

log = structlog.get_logger(__name__)

MAX_STREAMS = 500
MIN_GAP_S = 0.5
"""Two updates a second at most, however much happens."""
PING_S = 5.0
FIRST_RETRY_S = 0.25
LAST_RETRY_S = 5.0


class Mailbox:
    """What one stream has not been told yet. ``resync``: it may have missed something, all of it is to be read anew."""

    def __init__(self) -> None:
        self.changes: dict[tuple[str, str, str], Change] = {}
        self.resync = False
        self.closed = False
        self._bell = asyncio.Event()

    def put(self, changes: list[Change]) -> None:
        """Add changes and wake the stream."""
        merge(self.changes, changes)
        self._bell.set()

    def ask_resync(self) -> None:
        """Have the stream tell its listener to read everything anew."""
        self.resync = True
        self._bell.set()

    def wake(self) -> None:
        """From now on the mailbox gets what happens; a stream that waits for that may greet its listener."""
        self._bell.set()

    def close(self) -> None:
        """Have the stream end."""
        self.closed = True
        self._bell.set()

    async def wait(self, timeout_s: float) -> bool:
        """True when there is something to tell, False after ``timeout_s``."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._bell.wait()
        except TimeoutError:
            return False
        return True

    def take(self) -> tuple[list[Change], bool]:
        """Everything there is to tell, and whether to resync; the mailbox is empty afterwards."""
        self._bell.clear()
        changes, resync = list(self.changes.values()), self.resync
        self.changes, self.resync = {}, False
        return changes, resync


class Hub:
    """Hands what the channel says to every open stream. It subscribes with the first and lets go after the last."""

    def __init__(self, connect: Callable[[], redis.asyncio.Redis], channel: Callable[[], str]) -> None:
        self._connect = connect
        self._channel = channel
        self._boxes: set[Mailbox] = set()
        self._subscriber: asyncio.Task[None] | None = None
        self.subscribed = False
        self._closed = False

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return len(self._boxes)

    def open(self) -> Mailbox | None:
        """A mailbox for a new stream; ``None`` when this process has as many as it serves, or is about to end."""
        if self._closed or len(self._boxes) >= MAX_STREAMS:
            return None
        box = Mailbox()
        self._boxes.add(box)
        if self._subscriber is None or self._subscriber.done():
            self._subscriber = asyncio.get_running_loop().create_task(self._subscribe(), name="dtq-events")
        return box

    def drop(self, box: Mailbox) -> None:
        """Forget a stream that has ended."""
        self._boxes.discard(box)
        if not self._boxes and self._subscriber is not None:
            self._subscriber.cancel()
            self._subscriber = None
            self.subscribed = False

    def close(self) -> None:
        """End every stream and take no new one; their listeners come back to whoever serves them next."""
        self._closed = True
        for box in list(self._boxes):
            box.close()

    def _resync_all(self) -> None:
        for box in self._boxes:
            box.ask_resync()

    async def _subscribe(self) -> None:
        """Listen for as long as anybody is there. A loss of Redis costs a resync, never the loop."""
        delay = FIRST_RETRY_S
        missed = False
        while True:
            client = self._connect()
            try:
                async with client.pubsub() as pubsub:
                    await pubsub.subscribe(self._channel())
                    delay = FIRST_RETRY_S
                    await self._listen(pubsub, missed)
            except (RedisError, OSError, TimeoutError) as error:
                if self.subscribed or not missed:
                    log.warning("EVENTS_LOST", error=str(error) or type(error).__name__)
                    # Whoever reads now learns what is wrong from the answer, and not from silence.
                    self._resync_all()
                self.subscribed = False
                missed = True
                await asyncio.sleep(delay * random.uniform(0.7, 1.3))  # noqa: S311 - spreads load, hides nothing
                delay = min(delay * 2, LAST_RETRY_S)
            finally:
                await client.aclose()

    async def _listen(self, pubsub: redis.asyncio.client.PubSub, missed: bool) -> None:
        loop = asyncio.get_running_loop()
        heard = asked = loop.time()
        while True:
            message = await pubsub.get_message(timeout=1.0)
            now = loop.time()
            if message is None:
                # A connection can die without a word; then nothing but a question finds out.
                if asked > heard and now - asked > PING_S:
                    raise TimeoutError("the events channel has gone silent")
                if now - max(heard, asked) > PING_S:
                    await pubsub.ping()
                    asked = now
                continue
            heard = now
            if message["type"] == "subscribe":
                self.subscribed = True
                for box in self._boxes:
                    box.wake()
                if missed:
                    log.info("EVENTS_BACK", streams=self.streams)
                    self._resync_all()
            elif message["type"] == "message":
                changes = decode_message(message["data"])
                for box in self._boxes:
                    box.put(changes)
