"""Lifecycle events: one message per script call, whatever the number of tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tasks_app.domain.status import TaskStatus
from tasks_app.store.leases import Note
from tests.support.builders import ACTOR, make_submission
from tests.support.stage import HOUR_MS, WORKER, Stage
from tests.support.until import until


class Listener:
    def __init__(self, stage: Stage) -> None:
        self._pubsub = stage.client.pubsub(ignore_subscribe_messages=True)
        self._pubsub.subscribe(stage.keys.events)
        until(lambda: self._pubsub.get_message(timeout=0.05) is None)

    def one(self) -> dict[str, Any]:
        message = until(lambda: self._pubsub.get_message(timeout=0.05), what="an event")
        decoded: dict[str, Any] = json.loads(message["data"])
        return decoded

    def nothing_more(self) -> bool:
        return self._pubsub.get_message(timeout=0.05) is None

    def close(self) -> None:
        self._pubsub.close()


@pytest.fixture
def listener(stage: Stage) -> Iterator[Listener]:
    made = Listener(stage)
    yield made
    made.close()


async def test_a_life_in_events(stage: Stage, listener: Listener) -> None:
    task_id = stage.submit(queue="mail", task_type="send")
    assert listener.one()["events"] == [
        {"status": "queued", "queue": "mail", "type": "send", "count": 1, "ids": [task_id]}
    ]
    [task] = (await stage.claim()).tasks
    assert [event["status"] for event in listener.one()["events"]] == ["running"]
    await stage.leases.note(WORKER, [Note(task_id, 1, 0.5)])
    assert [event["status"] for event in listener.one()["events"]] == ["progress"]
    await stage.finish(task, TaskStatus.DEAD_LETTERED)
    assert [event["status"] for event in listener.one()["events"]] == ["dead_lettered"]
    stage.commands.dlq_requeue(task_id, ACTOR)
    assert [event["status"] for event in listener.one()["events"]] == ["queued"]
    stage.commands.cancel(task_id, ACTOR)
    assert [event["status"] for event in listener.one()["events"]] == ["cancelled"]
    assert listener.nothing_more()


async def test_one_message_a_call_in_groups(stage: Stage, listener: Listener) -> None:
    items = [make_submission(queue=f"q{i % 2}", delay_ms=HOUR_MS * (i % 3 == 0)) for i in range(300)]
    stage.commands.submit_many(items)
    message = listener.one()
    assert {(e["status"], e["queue"], e["count"], len(e["ids"])) for e in message["events"]} == {
        ("queued", "q0", 100, 100),
        ("queued", "q1", 100, 100),
        ("pending", "q0", 50, 50),
        ("pending", "q1", 50, 50),
    }
    assert abs(message["ts"] - stage.client.time()[0] * 1000) < 60_000
    assert listener.nothing_more()


async def test_ids_are_capped_and_the_count_is_exact(stage: Stage, listener: Listener) -> None:
    stage.commands.submit_many([make_submission()] * 250)
    [event] = listener.one()["events"]
    assert (event["count"], len(event["ids"])) == (250, 100)


async def test_a_refused_step_is_silent(stage: Stage, listener: Listener) -> None:
    task = await stage.running()
    listener.one(), listener.one()
    await stage.finish(task, TaskStatus.SUCCEEDED, worker="w9")
    await stage.claim()
    await stage.leases.reclaim("w9", (), 5)
    assert listener.nothing_more()


async def test_a_discard_and_a_pause_are_told(stage: Stage, listener: Listener) -> None:
    task_id = await stage.task(TaskStatus.FAILED)
    for _ in range(3):
        listener.one()
    stage.commands.discard(task_id, ACTOR)
    assert listener.one()["events"][0] | {"queue": "default"} == {
        "status": "discarded",
        "queue": "default",
        "type": "echo",
        "count": 1,
        "ids": [task_id],
    }
    stage.commands.pause("default", ACTOR)
    [event] = listener.one()["events"]
    assert (event["status"], event["queue"], event["count"]) == ("paused", "default", 0)
    assert event["ids"] == []
    stage.commands.resume("default", ACTOR)
    [event] = listener.one()["events"]
    assert (event["status"], event["ids"]) == ("resumed", [])
