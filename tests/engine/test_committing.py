"""Outcomes and notes on their way to the store."""

from __future__ import annotations

import asyncio
import random

import pytest
from structlog.testing import capture_logs

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.domain.outcome import Succeeded
from tasks_app.domain.status import TaskStatus
from tasks_app.handlers import TaskContext
from tasks_app.store.leases import LEASE_LOST, MAX_FINISH, Note
from tests.engine.fakes import FakeLeases, Turn, claimed
from tests.support.builders import make_config
from workers.engine import notes as notes_module
from workers.engine.committer import MAX_BATCH_CHARS, Committer
from workers.engine.execution import Execution, Slots
from workers.engine.notes import MAX_LINES_PER_FLUSH, NoteBook
from workers.engine.verdicts import Judge


class Bench:
    """A committer with its surroundings."""

    def __init__(self) -> None:
        self.leases = FakeLeases()
        self.slots = Slots(10)
        self.leased: dict[str, Execution] = {}
        self.notes = NoteBook(self.leases.real(), "w", asyncio.get_running_loop())
        self.committer = Committer(self.leases.real(), "w", self.slots, self.notes, self.leased)
        self.judge = Judge(make_config(), random.Random(1))

    def end(self, task_id: str, result: str = "null", attempt: int = 1) -> Execution:
        task = claimed(task_id, attempt=attempt)
        execution = Execution(task, None, TaskContext(task_id))
        execution.ended = True
        self.leased[task_id] = execution
        self.committer.add(execution, self.judge.finish(task, Succeeded(result), "succeeded", None))
        return execution


@pytest.fixture
async def bench() -> Bench:
    return Bench()


async def test_everything_that_has_ended_goes_in_one_call(bench: Bench) -> None:
    for number in range(5):
        bench.end(f"t{number}")
    await bench.committer.run_once()
    assert [len(batch) for batch in bench.leases.batches] == [5]
    assert bench.committer.empty
    assert (bench.slots.uncommitted, bench.leased, bench.committer.processed) == (0, {}, 5)


async def test_what_ends_during_a_call_waits_for_the_next(bench: Bench) -> None:
    bench.leases.hold = asyncio.Event()
    bench.end("first")
    call = asyncio.create_task(bench.committer.run_once())
    await Turn()
    for number in range(3):
        bench.end(f"t{number}")
    bench.leases.hold.set()
    await call
    await bench.committer.run_once()
    assert [len(batch) for batch in bench.leases.batches] == [1, 3]
    assert bench.slots.uncommitted == 0


async def test_outcomes_survive_an_outage(bench: Bench) -> None:
    bench.end("t")
    bench.leases.away(2)
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await bench.committer.run_once()
    assert not bench.committer.empty
    assert "t" in bench.leased  # still renewed
    await bench.committer.run_once()
    assert bench.committer.empty
    assert len(bench.leases.finished) == 1


async def test_the_last_flush_takes_everything_or_says_what_it_could_not(bench: Bench) -> None:
    for number in range(MAX_FINISH + 1):
        bench.end(f"t{number}")
    bench.leases.away()
    with capture_logs() as logs:
        await bench.committer.last_flush()
    assert [(line["event"], line["tasks"]) for line in logs] == [("OUTCOMES_NOT_WRITTEN", MAX_FINISH + 1)]
    await bench.committer.last_flush()
    assert [len(batch) for batch in bench.leases.batches] == [MAX_FINISH, 1]
    assert bench.committer.empty


async def test_batches_are_bounded_in_number_and_size(bench: Bench) -> None:
    for number in range(MAX_FINISH + 1):
        bench.end(f"t{number}")
    await bench.committer.run_once()
    await bench.committer.run_once()
    assert [len(batch) for batch in bench.leases.batches] == [MAX_FINISH, 1]
    for number in range(3):
        bench.end(f"big{number}", result="x" * (MAX_BATCH_CHARS * 2 // 3))
    await bench.committer.run_once()
    await bench.committer.run_once()
    assert [len(batch) for batch in bench.leases.batches[2:]] == [2, 1]


async def test_a_lost_lease_drops_the_outcome_and_says_so_once(bench: Bench) -> None:
    for number in range(20):
        bench.end(f"t{number}")
        bench.leases.answers[f"t{number}"] = LEASE_LOST
    with capture_logs() as lines:
        await bench.committer.run_once()
    assert [(line["event"], line["tasks"]) for line in lines] == [("TASK_LEASE_LOST", 20)]
    assert bench.committer.empty
    assert (bench.committer.processed, bench.committer.failed) == (0, 0)


async def test_a_newer_attempt_of_the_same_task_keeps_its_place(bench: Bench) -> None:
    bench.end("t", attempt=1)
    newer = Execution(claimed("t", attempt=2), None, TaskContext("t"))
    bench.leased["t"] = newer
    await bench.committer.run_once()
    assert bench.leased == {"t": newer}


async def test_failures_are_counted(bench: Bench) -> None:
    for task_id, status in {"a": TaskStatus.SUCCEEDED, "b": TaskStatus.RETRYING, "c": TaskStatus.DEAD_LETTERED}.items():
        bench.end(task_id)
        bench.leases.answers[task_id] = status.value
    await bench.committer.run_once()
    assert (bench.committer.processed, bench.committer.failed) == (3, 2)


async def test_one_outcome_that_the_store_chokes_on_does_not_hold_up_the_others(bench: Bench) -> None:
    for task_id in ("a", "poison", "b"):
        bench.end(task_id)
    bench.leases.errors.extend([ValueError("script broke")])
    finish = bench.leases.finish

    async def choke(worker_id, batch):
        if len(batch) == 1 and batch[0].task_id == "poison":
            raise ValueError("script broke")
        return await finish(worker_id, batch)

    bench.leases.finish = choke  # type: ignore[method-assign]
    with capture_logs() as lines:
        await bench.committer.run_once()
    assert [item.task_id for item in bench.leases.finished] == ["a", "b"]
    assert bench.committer.empty
    assert "OUTCOME_DROPPED" in {line["event"] for line in lines}


async def test_notes_are_written_before_the_outcome_that_ends_their_attempt(bench: Bench) -> None:
    order: list[str] = []
    note, finish = bench.leases.note, bench.leases.finish

    async def noting(worker_id, notes):
        order.append("note")
        await note(worker_id, notes)

    async def finishing(worker_id, batch):
        order.append("finish")
        return await finish(worker_id, batch)

    bench.leases.note, bench.leases.finish = noting, finishing  # type: ignore[method-assign]
    bench.notes("t", 1, progress=None, note=None, line="last words")
    bench.end("t")
    await bench.committer.run_once()
    assert order == ["note", "finish"]


async def test_of_progress_the_latest_counts_and_lines_keep_their_order(bench: Bench) -> None:
    for step in range(3):
        bench.notes("t", 1, progress=step / 2, note=f"step {step}", line=None)
        bench.notes("t", 1, progress=None, note=None, line=f"line {step}")
    bench.notes("u", 1, progress=0.1, note=None, line=None)
    await bench.notes.flush()
    assert bench.leases.notes == [
        Note("t", 1, 1.0, "step 2", ("line 0", "line 1", "line 2")),
        Note("u", 1, 0.1, None, ()),
    ]


async def test_notes_survive_an_outage_in_order(bench: Bench) -> None:
    bench.notes("t", 1, progress=0.1, note="early", line="first")
    bench.leases.away()
    with pytest.raises(StoreUnavailable):
        await bench.notes.flush()
    bench.notes("t", 1, progress=0.2, note="late", line="second")
    await bench.notes.flush()
    assert bench.leases.notes == [Note("t", 1, 0.2, "late", ("first", "second"))]


async def test_a_flood_of_lines_is_held_and_counted(bench: Bench) -> None:
    for number in range(MAX_LINES_PER_FLUSH + 50):
        bench.notes("t", 1, progress=None, note=None, line=str(number))
    await bench.notes.flush()
    (written,) = bench.leases.notes
    assert len(written.lines) == MAX_LINES_PER_FLUSH + 1
    assert written.lines[-1].startswith("... 50 lines left out")


async def test_notes_that_the_store_chokes_on_are_dropped_not_repeated(bench: Bench) -> None:
    bench.notes("t", 1, progress=None, note=None, line="poison")
    bench.leases.errors.append(ValueError("script broke"))
    with capture_logs() as lines:
        await bench.notes.flush()
        await bench.notes.flush()
    assert [line["event"] for line in lines] == ["NOTES_DROPPED"]


async def test_the_loop_of_the_notes_writes_by_itself(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes_module, "FLUSH_EVERY_S", 0.01)
    step = asyncio.create_task(bench.notes.run_once())
    await asyncio.to_thread(bench.notes, "t", 1, progress=0.5, note=None, line=None)
    async with asyncio.timeout(2):
        await step
    assert bench.leases.notes == [Note("t", 1, 0.5, None, ())]
