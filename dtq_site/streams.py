"""The event streams of this process: one subscription, two doors, each with its own guard."""

from __future__ import annotations

import hmac
from collections.abc import MutableMapping
from typing import Any

from tasks_app.conf import config, redis_url
from tasks_app.console.listening import may_listen
from tasks_app.live.hub import Hub
from tasks_app.live.stream import EventStream
from tasks_app.store.connections import connect_async
from tasks_app.store.keys import Keys

hub = Hub(lambda: connect_async(redis_url()), lambda: Keys(config().key_prefix).events)


async def has_key(scope: MutableMapping[str, Any]) -> int:
    """200 with the API's key or in open local mode, else 401."""
    expected = config().api_key
    if not expected:
        return 200
    given = dict(scope["headers"]).get(b"x-api-key", b"")
    return 200 if hmac.compare_digest(given, expected.encode()) else 401


console_events = EventStream(hub, may_listen)
api_events = EventStream(hub, has_key, with_events=True)
