"""The event streams of this process: one subscription, two doors, each with its own guard."""

from __future__ import annotations

import asyncio
import signal
import threading
from functools import partial
from types import FrameType
from typing import Any

from dtq_site.bridge import AsgiApp
from tasks_app.api.listening import may_follow
from tasks_app.conf import config, redis_url
from tasks_app.console.listening import may_listen
from tasks_app.live.hub import Hub
from tasks_app.live.stream import EventStream
from tasks_app.store.connections import connect_async
from tasks_app.store.keys import Keys

hub = Hub(lambda: connect_async(redis_url(), key_prefix=config().key_prefix), lambda: Keys(config().key_prefix).events)


def end_with_the_process() -> None:
    """End the streams when the process is asked to stop: the web server waits for answers that are under way.

    To be called on the running loop, after the web server has installed its own handlers, which are kept.
    """
    if threading.current_thread() is not threading.main_thread():
        return  # a server within a test or a thread ends by other means
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)
        if callable(before):
            signal.signal(number, partial(_ending, loop, before))


def _ending(loop: asyncio.AbstractEventLoop, before: Any, number: int, frame: FrameType | None) -> None:
    loop.call_soon_threadsafe(hub.close)
    before(number, frame)


# Path below the site's root -> application. These answer on the event loop and must not block it.
ASYNC_APPS: dict[str, AsgiApp] = {
    "/events": EventStream(hub, may_listen),
    "/api/v1/events": EventStream(hub, may_follow, with_events=True),
}
