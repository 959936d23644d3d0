"""What the queue looks like at a moment: the read side's shapes. Times are epoch milliseconds by Redis' clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tasks_app.domain.api_key import EVERYWHERE, Reach
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.wish import Told

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, for the audit. ``source`` is the address of a client, or the host of a shell."""

    name: str
    source: str = ""
    request_id: str = ""

    @property
    def arguments(self) -> tuple[str, str, str]:
        """What every script that writes to the audit takes first."""
        return self.name, self.source, self.request_id


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list; ``next`` is an opaque cursor, ``None`` on the last page."""

    items: list[T]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Which tasks a list shows; everything given must match. ``q``: an id, an id's start, or an idempotency key."""

    status: TaskStatus | None = None
    queue: str | None = None
    task_type: str | None = None
    worker_id: str | None = None
    q: str | None = None
    created_after: int | None = None
    created_before: int | None = None
    reach: Reach = EVERYWHERE


@dataclass(frozen=True, slots=True)
class Pause:
    """A queue's pause; ``until`` is ``None`` when somebody has to resume it."""

    by: str
    at: int
    reason: str = ""
    until: int | None = None


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """A queue and its counts. ``oldest_at`` is when the longest waiting queued task entered its stream."""

    name: str
    queued: int
    pending: int
    retrying: int
    running: int
    dead_lettered: int
    oldest_at: int | None = None
    pause: Pause | None = None
    bands: dict[int, int] = field(default_factory=dict)
    """Waiting per priority, 9 first; filled for one queue only, as it costs two commands a band."""


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker's last heartbeat. ``state``: ready, busy, quiet, draining, late (missed beats) or gone.

    ``told`` is the wish that stands for it, which its state follows with its next heartbeat.

    ``turned_at``: when its fetch loop last began a turn. ``idle_since``: since when it has had room for tasks and got
    none. Both are 0 when it has not said. ``task_types`` is ``None`` when it knows too many to name, or is gone;
    ``drain_timeout_ms`` when it has not said.
    """

    id: str
    state: str
    host: str
    pid: int
    version: str
    started_at: int
    seen_at: int
    concurrency: int
    occupied: int
    queues: tuple[str, ...]
    processed: int
    failed: int
    running: tuple[str, ...] = ()
    note: str = ""
    turned_at: int = 0
    idle_since: int = 0
    task_types: tuple[str, ...] | None = None
    drain_timeout_ms: int | None = None
    told: Told | None = None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An entry of the dead-letter stream; ``entry`` is its stream id."""

    entry: str
    task_id: str
    task_type: str
    queue: str
    attempts: int
    error_class: str
    error_message: str
    fingerprint: str
    worker_id: str
    failed_at: int


@dataclass(frozen=True, slots=True)
class DeadLetterGroup:
    """Dead letters with one fingerprint: same type, same error class, same message but for its numbers."""

    fingerprint: str
    task_type: str
    error_class: str
    error_message: str
    count: int
    first_seen: int
    last_seen: int
    hourly: tuple[int, ...]
    """How many each hour of a day added, the current one last. What failed again after a requeue counts again."""
    current_hour: int
    """When that began."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who did what to what."""

    entry: str
    at: int
    actor: str
    action: str
    target: str
    task_id: str
    source: str
    request_id: str
    detail: str


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The Redis or Valkey server behind the queue. ``snapshots``: whether RDB saves are set, ``None`` when unknown.

    ``loading``: it still reads its files, and says meanwhile that it writes no append-only file.
    """

    product: str
    version: str
    used_memory: int
    max_memory: int
    eviction_policy: str
    aof: bool
    snapshots: bool | None
    clients: int
    uptime_s: int
    now: int
    cluster: bool = False
    loading: bool = False


@dataclass(frozen=True, slots=True)
class StatsPoint:
    """One span of time. ``waits`` and ``runs`` are histograms over the store's buckets; ``failed`` counts the ended.

    ``depth`` and ``oldest_ms`` are the greatest samples of the span, ``None`` when nobody sampled.
    """

    at: int
    submitted: int
    started: int
    succeeded: int
    retried: int
    failed: int
    cancelled: int
    expired: int
    waits: tuple[int, ...]
    runs: tuple[int, ...]
    wait_sum_ms: int
    run_sum_ms: int
    depth: int | None = None
    oldest_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """A window's points, oldest first, each ``span_ms`` long."""

    window: str
    span_ms: int
    points: list[StatsPoint]


@dataclass(frozen=True, slots=True)
class QueueFlow:
    """What a queue took in and what workers took out of it lately, in tasks per minute."""

    into: float
    out: float
