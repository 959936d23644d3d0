"""The verdict on a worker, case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasks_app.domain.snapshot import WorkerInfo
from workers.engine.health import judge

NOW = 1_000_000_000
WORKER = WorkerInfo(
    "h-1-a",
    "ready",
    "h",
    1,
    "1",
    started_at=0,
    seen_at=NOW - 1000,
    concurrency=5,
    occupied=1,
    queues=("a", "b"),
    processed=0,
    failed=0,
    turned_at=NOW - 1000,
    idle_since=NOW - 1000,
)
LONG_AGO = NOW - 60_000


@pytest.mark.parametrize(
    ("changes", "waits", "healthy", "reason"),
    [
        ({}, {}, True, "nothing waits"),
        ({}, {"a": 29_000}, True, "nothing waits"),
        ({}, {"a": 31_000}, True, "taking tasks"),
        ({}, {"c": 99_000}, True, "nothing waits"),
        ({"turned_at": LONG_AGO}, {}, True, "nothing waits"),
        ({"idle_since": LONG_AGO}, {}, True, "nothing waits"),
        (
            {"turned_at": LONG_AGO},
            {"a": 31_000},
            False,
            "waited for 31 s and this worker has not looked for any for 60 s",
        ),
        ({"turned_at": LONG_AGO, "occupied": 5}, {"b": 31_000}, False, "has not looked"),
        ({"turned_at": NOW - 34_000, "occupied": 5}, {"b": 31_000}, True, "full, 5 of 5"),
        ({"turned_at": NOW - 34_000}, {"b": 31_000}, False, "has not looked"),
        ({"idle_since": LONG_AGO}, {"a": 31_000}, False, "with room, has taken none for 60 s"),
        ({"idle_since": LONG_AGO, "queues": ()}, {"c": 31_000}, False, "with room"),
        ({"idle_since": LONG_AGO, "occupied": 5}, {"a": 31_000}, True, "full, 5 of 5"),
        ({"idle_since": LONG_AGO, "state": "draining"}, {"a": 31_000}, True, "draining"),
        ({"idle_since": LONG_AGO, "turned_at": LONG_AGO, "state": "quiet"}, {"a": 31_000}, True, "quiet"),
        ({"seen_at": NOW - 10_001}, {}, False, "no heartbeat for 10 s"),
        ({"seen_at": NOW - 9_999, "state": "late"}, {}, True, "nothing waits"),
        ({"state": "gone"}, {}, False, "no heartbeat"),
    ],
)
def test_the_verdict(changes: dict[str, object], waits: dict[str, int], healthy: bool, reason: str) -> None:
    worker = replace(WORKER, **changes)  # type: ignore[arg-type]
    verdict = judge(worker, waits, NOW, heartbeat_every_ms=5000, stuck_after_ms=30_000)
    assert (verdict.healthy, reason in verdict.reason) == (healthy, True), verdict
