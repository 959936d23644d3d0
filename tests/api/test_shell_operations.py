"""``manage.py tasks operations``: the same words and answers as the API's."""

from __future__ import annotations

import pytest
import redis

from tasks_app import runtime
from tasks_app.shell import actions
from tests.api.client import Api
from tests.api.hand import Hand
from tests.api.shell import Ran


def test_operations_are_begun_listed_shown_and_aborted(run: type[Ran], api: Api) -> None:
    for queue in ("mail", "mail", "other"):
        api.post("tasks", {"task_type": "echo", "queue": queue})
    begun = run("operations", "begin", "cancel", "--queue", "mail", "--status", "queued", "--json")
    operation_id = begun.json[0]["id"]
    assert (begun.code, begun.json[0]["total"], begun.json[0]["filter"]["queue"]) == (0, 2, "mail")
    assert begun.json[0]["actor"] == actions.actor().name
    answer = api.get(f"operations/{operation_id}").text + "\n"
    assert run("operations", "show", operation_id, "--json").out == answer
    assert run("operations", "--json", "show", operation_id).out == answer
    assert run("operations", "--json").out == api.get("operations").text + "\n"
    again = run("operations", "begin", "cancel", "--queue", "mail", "--status", "queued")
    assert (again.code, again.err.split(":")[0]) == (1, "OPERATION_RUNNING")
    runtime.operations().run_for(5)
    shown = run("operations", "show", operation_id).out
    assert "finished" in shown
    assert "2/2" in shown
    assert run("operations", "abort", operation_id).err.startswith("OPERATION_ENDED")
    ended = run("operations", "begin", "discard", "--all", "--json").json[0]["id"]
    assert "aborted" in run("operations", "abort", ended).out
    assert [line.split()[1] for line in run("operations").out.splitlines()] == ["ACTION", "discard", "cancel"]


def test_a_careful_one_says_what_it_waits_for_and_why_it_stopped(
    run: type[Ran], api: Api, hand: Hand, redis_client: redis.Redis
) -> None:
    for _ in range(2):
        api.post("tasks", {"task_type": "echo"})
        hand.fail()
    operation_id = run("operations", "begin", "requeue", "--all", "--careful", "--json").json[0]["id"]
    runtime.operations().run_for(5)
    assert "running, waits for a scheduler" in run("operations", "show", operation_id).out
    redis_client.set("dtq:lock:scheduler", "token host:1")
    assert "running, trying 1" in run("operations", "show", operation_id).out
    hand.fail()
    runtime.operations().run_for(5)
    shown = run("operations", "show", operation_id).out
    assert "stopped" in shown
    assert "1 of 1" in shown


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["cancel"], "begin wants either a filter or --all"),
        (["cancel", "--all", "--queue", "mail"], "begin wants either a filter or --all"),
        (["cancel", "--queue", "No Queue"], "--queue is malformed"),
        (["requeue", "--after", "yesterday"], "--after must be ISO 8601"),
        (["requeue", "--status", "queued"], "--status must be one of"),
        (["cancel", "--all", "--careful"], "--careful is for requeueing"),
        (["cancel", "--type", "no type"], "--type is malformed"),
        (["cancel", "--worker", ""], "--worker is malformed"),
        (["cancel", "--before", "2030-01-31"], "--before must be ISO 8601"),
        (["cancel", "--fingerprint", "0123456789abcdef"], "--fingerprint is for dead-lettered tasks"),
    ],
)
def test_an_operation_that_makes_no_sense_is_usage(run: type[Ran], words: list[str], why: str) -> None:
    ran = run("operations", "begin", *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(why)
    assert runtime.operations().page().items == []
