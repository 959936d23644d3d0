"""The event stream. It is served past Django (``dtq_site.streams``), so no view tells the document of it."""

from __future__ import annotations

import json
from typing import Any

from tasks_app.api.examples import TASK_ID

_CHANGES: dict[str, Any] = {
    "type": "object",
    "description": "What an event `changed` holds.",
    "required": ["ts", "topics", "events"],
    "properties": {
        "ts": {"type": "integer", "description": "Now, in epoch milliseconds."},
        "topics": {
            "type": "array",
            "items": {"type": "string"},
            "description": "`tasks`, `queue:NAME`, `type:NAME`, and `task:ID`, or `task:*` when they are many.",
        },
        "events": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["status", "queue", "type", "count", "ids"],
                "properties": {
                    "status": {"type": "string", "description": "What these tasks are now."},
                    "queue": {"type": "string"},
                    "type": {"type": "string"},
                    "count": {"type": "integer"},
                    "ids": {"type": "array", "items": {"type": "string"}, "description": "May be fewer than `count`."},
                },
            },
        },
    },
}
_TOLD: tuple[tuple[str, dict[str, Any]], ...] = (
    ("hello", {"ts": 1896091200000}),
    (
        "changed",
        {
            "ts": 1896091200500,
            "topics": ["tasks", "queue:default", "type:echo", f"task:{TASK_ID}"],
            "events": [{"status": "queued", "queue": "default", "type": "echo", "count": 1, "ids": [TASK_ID]}],
        },
    ),
    ("beat", {"ts": 1896091210000, "redis": True}),
)
_EXAMPLE = "".join(f"event: {name}\ndata: {json.dumps(told)}\n\n" for name, told in _TOLD)
_REFUSALS = {
    401: "No key that is good.",
    403: "The key lacks the scope.",
    405: "Only GET opens a stream.",
    429: "The key is used too often.",
    503: "Too many event streams, or Redis cannot say whether the key is good.",
}
_SECONDS = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}


def _refusal(status: int, words: str) -> dict[str, Any]:
    found: dict[str, Any] = {"description": words, "content": {"text/plain": {"schema": {"type": "string"}}}}
    return found | ({"headers": _SECONDS} if status in {429, 503} else {})


_GET = {
    "operationId": "followEvents",
    "tags": ["events"],
    "summary": "Hear of changes as they happen",
    "description": (
        "Server-sent events, of the queues that the key is for. `hello`: the stream is open; read what you show after "
        "it. `changed`: tasks changed, see `Changes`; at most two a second. `resync`: something may have been missed; "
        "read anew. `beat`: every ten seconds, `redis` is false during an outage. A stream ends after about fifteen "
        "minutes, or when the key stops being good; open it again."
    ),
    "security": [{"ApiKey": ["read"]}],
    "responses": {
        "200": {
            "description": "The stream.",
            "content": {"text/event-stream": {"schema": {"type": "string"}, "example": _EXAMPLE}},
        },
        **{str(status): _refusal(status, words) for status, words in _REFUSALS.items()},
    },
}


def add_events(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: the event stream beside what the views tell of themselves."""
    result["paths"]["/api/v1/events"] = {"get": dict(_GET)}
    result["components"]["schemas"]["Changes"] = _CHANGES
    return result
