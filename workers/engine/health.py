"""Whether a worker does its work, judged from outside by what it last said of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tasks_app.domain.snapshot import WorkerInfo
from workers.engine.reaper import EVERY_WHEN_FULL_S

MISSED_BEATS = 2
"""Heartbeats that may be missing before a worker counts as silent; its record ends with the third."""

TURN_WHEN_FULL_MS = round(EVERY_WHEN_FULL_S * 1000)
"""How long a turn of the fetch loop lasts with every slot taken."""

_TAKES_NOTHING = frozenset({"quiet", "draining"})
"""States of a worker that was told so, whatever waits."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``reason`` says why, in a few words, either way."""

    healthy: bool
    reason: str


def judge(
    worker: WorkerInfo, waits_ms: Mapping[str, int], now: int, *, heartbeat_every_ms: int, stuck_after_ms: int
) -> Verdict:
    """The verdict on one worker.

    Args:
        waits_ms: per queue that is not paused how long its oldest waiting task has waited.
        now: epoch milliseconds by Redis' clock, like the worker's times.
        stuck_after_ms: how long work may wait while the worker neither looks for it nor gets any.
    """
    silent_ms = now - worker.seen_at
    if worker.state == "gone" or silent_ms > MISSED_BEATS * heartbeat_every_ms:
        return Verdict(False, f"no heartbeat for {_seconds(silent_ms)}")
    if worker.state in _TAKES_NOTHING:
        return Verdict(True, worker.state)
    waiting_ms = max((ms for queue, ms in waits_ms.items() if not worker.queues or queue in worker.queues), default=0)
    if waiting_ms <= stuck_after_ms:
        # A loop that stands still while nothing waits costs nobody anything; a restart would cost what runs.
        return Verdict(True, "nothing waits for long")
    work = f"a task has waited for {_seconds(waiting_ms)}"
    still_ms = now - worker.turned_at
    full = worker.occupied >= worker.concurrency
    if still_ms > stuck_after_ms + (TURN_WHEN_FULL_MS if full else 0):
        return Verdict(False, f"{work} and this worker has not looked for any for {_seconds(still_ms)}")
    if full:
        return Verdict(True, f"full, {worker.occupied} of {worker.concurrency}")
    idle_ms = now - worker.idle_since
    if idle_ms > stuck_after_ms:
        return Verdict(False, f"{work} and this worker, with room, has taken none for {_seconds(idle_ms)}")
    return Verdict(True, "taking tasks")


def _seconds(ms: int) -> str:
    return f"{max(0, ms) / 1000:.0f} s"
