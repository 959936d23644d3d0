"""A payload or result is the same text at every hop."""

from __future__ import annotations

import json

import pytest

from tasks_app.domain.config import Config
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.submission import parse_submission
from tasks_app.store.queries import Queries
from tests.support.builders import ACTOR
from tests.support.stage import OTHER_WORKER, Stage

EXACT = [
    9007199254740993,
    9223372036854775807,
    10**30,
    0.1,
    1e-7,
    [],
    {},
    [[]],
    {"1": 1},
    "漢🙂\u2028",
    "\x00",
    "/",
    "<>&",
]
TEXT = json.dumps({"x": EXACT}, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("in_metadata", [False, True])
async def test_through_every_hop(stage: Stage, queries: Queries, in_metadata: bool) -> None:
    raw = {"task_type": "echo", "payload": {"x": EXACT}, "idempotency_key": "k", "max_attempts": 3}
    raw |= {"metadata": {"x": EXACT}} if in_metadata else {}
    submission = parse_submission(raw, Config())
    assert submission.payload_json == TEXT
    fingerprint = submission.fingerprint
    task = stage.commands.submit(submission).task

    def unchanged() -> None:
        stored = queries.task(task.id)
        assert stored.payload_json == TEXT
        assert stage.client.hget(stage.keys.task(task.id), "payload") == TEXT.encode()
        if in_metadata:
            metadata = stage.record(task.id)["metadata"]
            assert metadata == TEXT or metadata.startswith(TEXT[:-1] + ',"previous_attempts":[')
        assert parse_submission(raw, Config()).fingerprint == fingerprint

    unchanged()
    [run] = (await stage.claim()).tasks
    assert run.payload_json == TEXT
    await stage.finish(run, TaskStatus.RETRYING, delay_ms=0)
    unchanged()
    await stage.release()
    unchanged()
    [run] = (await stage.claim()).tasks
    assert run.payload_json == TEXT
    stage.lapse(task.id)
    [run] = (await stage.leases.reclaim(OTHER_WORKER, (), 1)).tasks
    assert run.payload_json == TEXT
    await stage.finish(run, TaskStatus.DEAD_LETTERED, OTHER_WORKER)
    unchanged()
    for _ in range(2):
        stage.commands.dlq_requeue(task.id, ACTOR)
        unchanged()
        [run] = (await stage.claim()).tasks
        assert run.payload_json == TEXT
        await stage.finish(run, TaskStatus.DEAD_LETTERED)
    stage.commands.dlq_requeue(task.id, ACTOR)
    [run] = (await stage.claim()).tasks
    await stage.finish(run, TaskStatus.SUCCEEDED, result_json=TEXT)
    unchanged()
    assert queries.task(task.id).result_json == TEXT
    duplicate = stage.commands.submit(submission)
    assert duplicate.duplicate and duplicate.task.result_json == TEXT


@pytest.mark.parametrize("size", [0, 1, 100_000, 262_000])
async def test_of_any_size(stage: Stage, size: int) -> None:
    text = json.dumps({"x": "y" * size})
    task_id = stage.submit(payload_json=text)
    [run] = (await stage.claim()).tasks
    assert (run.id, run.payload_json) == (task_id, text)
