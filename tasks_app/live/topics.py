"""What an event message means for listeners: names of what changed. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

MAX_TOPICS = 400
"""Names in one update; past it single tasks are summed up as ``task:*``, so that an update stays a few kilobytes."""
MAX_IDS = 100
ANY_TASK = "task:*"


@dataclass(slots=True)
class Change:
    """What happened to tasks of one status, queue and type. ``ids`` may be fewer than ``count``."""

    status: str
    queue: str
    type: str
    count: int = 0
    ids: list[str] = field(default_factory=list)


def decode_message(text: bytes | str) -> list[Change]:
    """The changes in a message of the events channel; none for a message that is not of ours."""
    try:
        raw = json.loads(text)
        return [
            Change(str(e["status"]), str(e["queue"]), str(e["type"]), int(e.get("count") or len(e["ids"])), _ids(e))
            for e in raw["events"]
        ]
    except (ValueError, KeyError, TypeError, OverflowError):
        return []


def topics_of(changes: Iterable[Change]) -> list[str]:
    """``tasks``, ``queue:<name>``, ``type:<name>`` and ``task:<id>`` of the changes, each once."""
    named: dict[str, None] = {}
    tasks: dict[str, None] = {}
    unnamed = False
    for change in changes:
        named["tasks"] = None
        named[f"queue:{change.queue}"] = None
        if change.type:
            named[f"type:{change.type}"] = None
        tasks.update(dict.fromkeys(f"task:{task_id}" for task_id in change.ids))
        unnamed = unnamed or change.count > len(change.ids)
    if unnamed or len(tasks) > MAX_TOPICS:
        tasks = {ANY_TASK: None}
    return [*named, *tasks]


def merge(into: dict[tuple[str, str, str], Change], changes: Iterable[Change]) -> None:
    """Add changes to those that wait to be sent, summing up what concerns the same status, queue and type."""
    for change in changes:
        key = (change.status, change.queue, change.type)
        known = into.get(key)
        if known is None:
            into[key] = Change(*key, change.count, change.ids[:MAX_IDS])
        else:
            known.count += change.count
            known.ids += change.ids[: MAX_IDS - len(known.ids)]


def _ids(event: dict[str, Any]) -> list[str]:
    # An empty Lua table is encoded as an object.
    ids = event["ids"]
    return [str(task_id) for task_id in ids] if isinstance(ids, list) else []
