"""What a handler can ask and tell."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tasks_app.handlers import TaskContext
from tasks_app.handlers.context import MAX_LINE_CHARS, MAX_NOTE_CHARS
from tasks_app.handlers.errors import TaskCancelled


class Sink:
    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def __call__(self, task_id: str, attempt: int, *, progress: Any, note: Any, line: Any) -> None:
        self.told.append((task_id, attempt, progress, note, line))


def test_a_bare_context_serves_a_handlers_own_tests() -> None:
    ctx = TaskContext()
    ctx.progress(0.5, "half")
    ctx.log("a line")
    ctx.raise_if_cancelled()
    assert not ctx.cancelled
    assert 3590 < ctx.remaining_s <= 3600


def test_progress_is_held_between_nothing_and_all() -> None:
    sink = Sink()
    ctx = TaskContext("t", attempt=2, sink=sink)
    for fraction in (0, 0.25, 1, -3, 7, math.inf):
        ctx.progress(fraction)
    assert [told[2] for told in sink.told] == [0, 0.25, 1, 0, 1, 1]
    assert {told[:2] for told in sink.told} == {("t", 2)}


@pytest.mark.parametrize("fraction", [True, "1", None, math.nan])
def test_progress_must_be_a_number(fraction: Any) -> None:
    with pytest.raises(ValueError, match="progress must be a number"):
        TaskContext(sink=Sink()).progress(fraction)


def test_texts_are_cut_and_made_storable() -> None:
    sink = Sink()
    ctx = TaskContext(sink=sink)
    ctx.log("bad \ud800 end")
    ctx.log("x" * 5000)
    ctx.progress(0.1, "y" * 5000)
    lines = [told[4] for told in sink.told if told[4] is not None]
    assert lines[0] == "bad ? end"
    assert len(lines[1]) == MAX_LINE_CHARS
    assert lines[1].endswith("[cut]")
    assert len(sink.told[2][3]) == MAX_NOTE_CHARS


def test_cancelling_is_seen_and_raised() -> None:
    ctx = TaskContext()
    ctx.mark_cancelled()
    assert ctx.cancelled
    with pytest.raises(TaskCancelled):
        ctx.raise_if_cancelled()


def test_the_idempotency_key_is_the_same_on_every_attempt_and_differs_between_tasks() -> None:
    first, again = TaskContext("a", attempt=1), TaskContext("a", attempt=2)
    assert first.idempotent("charge") == again.idempotent("charge") == "a:charge"
    assert TaskContext("b").idempotent("charge") != first.idempotent("charge")


def test_the_deadline_counts_from_the_start() -> None:
    ctx = TaskContext(timeout_s=10)
    assert abs(ctx.deadline - datetime.now(UTC) - timedelta(seconds=10)) < timedelta(seconds=1)
    assert TaskContext(timeout_s=0).remaining_s == 0
