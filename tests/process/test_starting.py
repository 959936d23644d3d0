"""What the commands that run for long say at their start and when they cannot: JSON where the log is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.process.fleet import Fleet, Process
from tests.support.until import until

NOWHERE = "redis://:s3cr3tPW@127.0.0.1:1/0"


def lines(process: Process) -> list[dict[str, Any]]:
    """Every line it has said; each must be an object."""
    return [json.loads(line) for line in process.text.splitlines()]


@pytest.mark.parametrize(
    ("command", "started"), [("runworker", "WORKER_STARTED"), ("runscheduler", "SCHEDULER_STARTED")]
)
def test_a_finding_is_a_line_of_the_log(fleet: Fleet, command: str, started: str) -> None:
    process = fleet.start(command, REDIS_URL=NOWHERE, LOG_JSON="true")
    until(lambda: started in process.text, timeout=30, what="its start")
    found = lines(process)[0]
    assert (found["event"], found["level"], found["id"]) == ("CHECK_FINDING", "warning", "dtq.W001")
    assert found["message"] == "Redis at redis://***@127.0.0.1:1/0 does not answer: Redis cannot be reached"
    assert found["hint"].startswith("Start it, or correct DTQ_REDIS_URL.")


def test_for_people_it_is_text(fleet: Fleet) -> None:
    process = fleet.start("runscheduler", REDIS_URL=NOWHERE)
    until(lambda: "SCHEDULER_STARTED" in process.text, timeout=30, what="its start")
    assert "?: (dtq.W001) Redis at redis://***@127.0.0.1:1/0 does not answer" in process.text
    assert "CHECK_FINDING" not in process.text


@pytest.mark.parametrize(
    ("arguments", "settings", "last"),
    [
        (["runworker", "--concurrency", "0"], {}, "--concurrency must be 1..10000"),
        (["runworker"], {"TASK_MODULES": "nowhere"}, "It cannot start: see the findings of level error."),
        (["runweb", "--port", "0", "--host", "0.0.0.0"], {}, "Set DTQ_API_KEY"),
    ],
)
def test_what_ends_it_is_its_last_line(fleet: Fleet, arguments: list[str], settings: dict[str, str], last: str) -> None:
    process = fleet.start(*arguments, LOG_JSON="true", **settings)
    assert process.wait() == 1
    said = lines(process)
    assert (said[-1]["event"], said[-1]["level"]) == ("COMMAND_FAILED", "error")
    assert last in said[-1]["error"]
    assert [line["id"] for line in said[:-1] if line["level"] == "error"] == (["dtq.E002"] if settings else [])


def test_a_worker_without_handlers_says_so_as_well(fleet: Fleet) -> None:
    process = fleet.start("runworker", TASK_MODULES="", DEMO_TASKS="false", LOG_JSON="true")
    until(lambda: "WORKER_STARTED" in process.text, timeout=30, what="its start")
    assert "DTQ_TASK_MODULES" in next(line["text"] for line in lines(process) if line["event"] == "REMARK")
