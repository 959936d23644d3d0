"""Attempts from start to end: each ends exactly once, whatever its handler does."""

from __future__ import annotations

import pytest

from tasks_app.domain.status import TaskStatus
from tests.engine.executor_bench import ExecutorBench
from tests.engine.fakes import claimed


async def test_success_on_the_loop_and_in_a_thread(stand: ExecutorBench) -> None:
    stand.gate.set()
    stand.start(claimed("a", "echo", payload_json='{"x":[1]}'), claimed("b", "thread"))
    assert stand.slots.occupied == 2
    done = {finish.task_id: finish for finish in await stand.outcome(2)}
    assert done["a"].result_json == '{"x":[1]}'
    assert done["b"].result_json == '"from a thread"'
    assert {finish.status for finish in done.values()} == {TaskStatus.SUCCEEDED}
    assert (stand.slots.occupied, stand.slots.uncommitted, stand.leased) == (0, 0, {})


async def test_unknown_types_and_broken_payloads_end_at_once(stand: ExecutorBench) -> None:
    stand.start(claimed("a", "os.system"), claimed("b", "echo", payload_json="{"))
    done = {finish.task_id: finish for finish in await stand.outcome(2)}
    assert done["a"].error_class == "UnknownTaskType"
    assert done["b"].error_class == "UndecodablePayload"
    assert {finish.status for finish in done.values()} == {TaskStatus.DEAD_LETTERED}


async def test_retryable_failures_are_retried_until_attempts_run_out(stand: ExecutorBench) -> None:
    stand.start(claimed("a", "again", attempt=2, max_attempts=3), claimed("b", "again", attempt=3, max_attempts=3))
    done = {finish.task_id: finish for finish in await stand.outcome(2)}
    assert done["a"].status is TaskStatus.RETRYING
    assert done["a"].delay_ms > 0
    assert done["b"].status is TaskStatus.DEAD_LETTERED


@pytest.mark.parametrize("what", ["exit", "cancel", "interrupt"])
async def test_raising_what_ends_loops_is_a_failure(stand: ExecutorBench, what: str) -> None:
    stand.start(claimed("a", "throw", payload_json=f'{{"what":"{what}"}}'))
    (finish,) = await stand.outcome()
    assert (finish.status, finish.outcome) == (TaskStatus.DEAD_LETTERED, "failed")


async def test_a_coroutine_times_out(stand: ExecutorBench) -> None:
    stand.start(claimed("a", "wait", timeout_ms=20))
    (finish,) = await stand.outcome()
    assert (finish.outcome, finish.error_class) == ("timed_out", "TaskTimeout")
    assert finish.status is TaskStatus.RETRYING
    assert stand.slots.occupied == 0


async def test_a_thread_times_out_and_keeps_its_slot(stand: ExecutorBench) -> None:
    stand.start(claimed("a", "stubborn", timeout_ms=20))
    (finish,) = await stand.outcome()
    assert finish.outcome == "timed_out"
    assert stand.slots.occupied == 1
    assert len(stand.executor.detached) == 1
    stand.gate.set()
    await stand.idle()
    await stand.committer.flush()
    assert len(stand.leases.finished) == 1  # the late result is dropped
    assert not stand.executor.detached


async def test_a_thread_that_looks_sees_its_timeout(stand: ExecutorBench) -> None:
    stand.start(claimed("a", "thread", timeout_ms=20))
    await stand.outcome()
    (execution,) = stand.executor.detached
    assert execution.context.cancelled
