"""Workers as they are kept: the last heartbeat and the wish that stands, a hash each (docs/redis-keys.md)."""

from __future__ import annotations

from collections.abc import Mapping

from tasks_app.domain.config import Config
from tasks_app.domain.snapshot import WorkerInfo
from tasks_app.domain.wish import Wish
from tasks_app.store import codec
from tasks_app.store.presence import MANY_TYPES
from tasks_app.store.scripts import heartbeat_ttl_ms


def decode_worker(
    worker_id: str,
    seen_at: int,
    record: Mapping[bytes, bytes],
    told: Mapping[bytes, bytes],
    *,
    now: int,
    config: Config,
) -> WorkerInfo:
    """A worker as of ``now``: gone when it has no record, late when that is older than one and a half heartbeats."""
    texts = {codec.name(field): codec.name(value) for field, value in record.items()}
    state = texts.get("state", "gone")
    concurrency, occupied = codec.number(texts.get("concurrency")), codec.number(texts.get("occupied"))
    wanted = codec.decode_told(told)
    if state == "quiet" and wanted is not None and wanted.wish is Wish.QUIET and seen_at <= wanted.at:
        # It said so before it was told this: in between it was told to resume, and it may be taking tasks.
        state = "busy" if occupied >= concurrency else "ready"
    if record and now - seen_at > heartbeat_ttl_ms(config) // 2:
        state = "late"
    drain = texts.get("drain_timeout_ms")
    return WorkerInfo(
        id=worker_id,
        state=state,
        host=texts.get("host", ""),
        pid=codec.number(texts.get("pid")),
        version=texts.get("version", ""),
        started_at=codec.moment(texts.get("started_at")),
        seen_at=seen_at,
        concurrency=concurrency,
        occupied=occupied,
        queues=tuple(filter(None, texts.get("queues", "").split(","))),
        processed=codec.number(texts.get("processed")),
        failed=codec.number(texts.get("failed")),
        running=codec.decode_running(texts.get("running", "[]")),
        note=texts.get("note", ""),
        turned_at=codec.moment(texts.get("turned_at")),
        idle_since=codec.moment(texts.get("idle_since")),
        task_types=_types(texts.get("task_types")),
        drain_timeout_ms=None if drain is None else codec.number(drain),
        told=wanted,
    )


def _types(text: str | None) -> tuple[str, ...] | None:
    return None if text is None or text == MANY_TYPES else tuple(filter(None, text.split(",")))
