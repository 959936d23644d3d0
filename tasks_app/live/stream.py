"""The event stream as an ASGI application.

Events: ``hello`` when it opens; ``changed`` with ``{"topics": [...]}`` and, for clients of the API, ``"events"``;
``resync`` when something may have been missed; ``beat`` with ``{"ts": ms, "redis": bool}`` every ten seconds.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import random
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from tasks_app.domain.api_key import EVERYWHERE, Reach
from tasks_app.live.hub import MIN_GAP_S, Hub, Mailbox
from tasks_app.live.topics import topics_of

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BEAT_S = 10.0
LIFE_S = 900.0
"""A stream ends after about so long and its listener comes back, to whichever process has room."""

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]


@dataclass(frozen=True, slots=True)
class Verdict:
    """May whoever asks listen, and to which queues? ``status`` is 200 or what to refuse with."""

    status: int
    reach: Reach = EVERYWHERE
    retry_after_s: int | None = None


Authorize = Callable[[Message, bool], Awaitable[Verdict]]


class EventStream:
    """Serves one path.

    ``authorize`` gets the ASGI scope, and whether the stream is open already: it is asked again at every beat. Once it
    refuses, the listener is told to read anew, which shows it why, and the stream ends: whoever was signed out or lost
    a right hears nothing for longer than ``BEAT_S``. While it cannot say, the stream goes on.
    """

    def __init__(self, hub: Hub, authorize: Authorize, *, with_events: bool = False) -> None:
        self._hub = hub
        self._authorize = authorize
        self._with_events = with_events

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """One connection, until its listener leaves or its life is over."""
        verdict = await self._authorize(scope, False)
        if verdict.status != 401 and scope["method"] != "GET":
            return await _refuse(send, 405, "Only GET")
        if verdict.status != 200:
            return await _refuse(send, verdict.status, "Not allowed", verdict.retry_after_s)
        box = self._hub.open()
        if box is None:
            return await _refuse(send, 503, "Too many event streams", 10)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await self._run(box, scope, verdict.reach, receive, send)
        finally:
            self._hub.drop(box)

    async def _run(self, box: Mailbox, scope: Message, reach: Reach, receive: Receive, send: Send) -> None:
        leaving = asyncio.ensure_future(_left(receive))
        talking = asyncio.ensure_future(self._talk(box, scope, reach, send))
        try:
            await asyncio.wait({leaving, talking}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (leaving, talking):
                task.cancel()
            results = await asyncio.gather(leaving, talking, return_exceptions=True)
        for result in results:
            # A listener that vanishes while it is written to is the ordinary end of a stream.
            if isinstance(result, Exception) and not isinstance(result, OSError):
                raise result

    async def _talk(self, box: Mailbox, scope: Message, reach: Reach, send: Send) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + LIFE_S * random.uniform(0.9, 1.1)  # noqa: S311 - spreads load, hides nothing
        if not self._hub.subscribed:
            # A listener that is greeted reads everything; what comes after that must not pass it by. A Redis that is
            # away wakes the mailbox as well.
            await box.wait(BEAT_S)
            box.take()
        await _event(send, "hello", {"ts": _now()})
        beat = loop.time() + BEAT_S
        while not box.closed and (now := loop.time()) < ends:
            if await box.wait(max(0.0, beat - now)):
                changes, resync = box.take()
                changes = [change for change in changes if reach.covers(change.queue)]
                if resync:
                    await _event(send, "resync", {"ts": _now()})
                elif changes:
                    body: dict[str, Any] = {"ts": _now(), "topics": topics_of(changes)}
                    if self._with_events:
                        body["events"] = [dataclasses.asdict(change) for change in changes]
                    await _event(send, "changed", body)
                # What happens in the gap is collected and told at once after it.
                await asyncio.sleep(0 if box.closed else MIN_GAP_S)
            if loop.time() >= beat:
                if (await self._authorize(scope, True)).status in {401, 403}:
                    await _event(send, "resync", {"ts": _now()})
                    break
                await _event(send, "beat", {"ts": _now(), "redis": self._hub.subscribed})
                beat = loop.time() + BEAT_S
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _event(send: Send, name: str, data: dict[str, Any]) -> None:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    body = f"event: {name}\ndata: {text}\n\n".encode()
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _refuse(send: Send, status: int, text: str, retry_after_s: int | None = None) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    if status == 405:
        headers.append((b"allow", b"GET"))
    if retry_after_s is not None:
        headers.append((b"retry-after", b"%d" % retry_after_s))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


def _now() -> int:
    return time.time_ns() // 1_000_000
