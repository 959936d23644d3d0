"""What a heartbeat says of the fetch loop, in the server's time, and of the types that the worker knows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tasks_app.store.presence import MAX_TYPES, Fetching, Heartbeat

if TYPE_CHECKING:
    from tasks_app.domain.snapshot import WorkerInfo
    from tasks_app.store.presence import Presence
    from tasks_app.store.queries import Queries

BEAT = Heartbeat("w", "host", 1, "1", 0.0, "ready", 5, 0, (), 0, 0, fetching=Fetching(1_000, 60_000))


def told(presence: Presence, queries: Queries, **changes: object) -> WorkerInfo:
    """What is read after this heartbeat."""
    presence.heartbeat(replace(BEAT, **changes))  # type: ignore[arg-type]
    return queries.worker("w")


def test_ages_become_moments_by_the_servers_clock(presence: Presence, queries: Queries) -> None:
    seen = told(presence, queries)
    assert (seen.seen_at - seen.turned_at, seen.seen_at - seen.idle_since) == (1_000, 60_000)


def test_who_cannot_say_leaves_what_was_said(presence: Presence, queries: Queries) -> None:
    before = told(presence, queries)
    after = told(presence, queries, fetching=None, state="busy")
    assert (after.state, after.turned_at, after.idle_since) == ("busy", before.turned_at, before.idle_since)


def test_the_drain_timeout_is_the_workers_own(presence: Presence, queries: Queries) -> None:
    assert told(presence, queries).drain_timeout_ms is None
    assert told(presence, queries, drain_timeout_s=0.25).drain_timeout_ms == 250
    assert told(presence, queries, state="draining").drain_timeout_ms == 250


@pytest.mark.parametrize(
    ("types", "known"),
    [
        (("a", "b.c:d"), ("a", "b.c:d")),
        ((), ()),
        (tuple(f"t{i}" for i in range(MAX_TYPES + 1)), None),
    ],
)
def test_types_are_named_unless_they_are_too_many(
    presence: Presence, queries: Queries, types: tuple[str, ...], known: tuple[str, ...] | None
) -> None:
    assert told(presence, queries, task_types=types).task_types == known
