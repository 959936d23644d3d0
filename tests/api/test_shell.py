"""``manage.py tasks``: the same answers as the API, as text for people, and exit codes for scripts."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management.base import CommandError

from tasks_app.domain.status import TaskStatus
from tasks_app.shell import actions
from tests.api.client import Api
from tests.api.hand import Hand
from tests.api.shell import Ran

if TYPE_CHECKING:
    import redis

UNKNOWN = "0" * 32


def test_submit_show_and_list_answer_like_the_api(run: type[Ran], api: Api) -> None:
    ran = run("submit", "echo", '{"n": [1, {}]}', "--queue", "mail", "--priority", "9", "--key", "k", "--json")
    task_id = ran.json[0]["id"]
    assert (ran.code, ran.json[0]["duplicate"]) == (0, False)
    assert run("show", task_id, "--json").out == api.get(f"tasks/{task_id}").text + "\n"
    assert run("list", "--json").out == api.get("tasks").text + "\n"
    assert run("queues", "--json").out == api.get("queues").text + "\n"
    assert run("workers", "--json").out == api.get("workers").text + "\n"
    assert run("result", task_id, "--json").out == api.get(f"tasks/{task_id}/result").text + "\n"


def test_every_option_of_submit_counts(run: type[Ran]) -> None:
    [body] = run(
        "submit",
        "echo",
        "--max-attempts=2",
        "--timeout-ms=500",
        "--delay=60",
        '--metadata={"ttl_seconds":3600}',
        "--json",
    ).json
    assert (body["status"], body["max_attempts"], body["timeout_ms"]) == ("pending", 2, 500)
    assert body["metadata"] == {"ttl_seconds": 3600}


def test_a_payload_comes_from_a_file_or_from_standard_input(
    run: type[Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "payload.json"
    file.write_text('{"from":"漢"}')
    assert run("submit", "echo", f"@{file}", "--json").json[0]["payload"] == {"from": "漢"}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"from":"pipe"}')))
    assert run("submit", "echo", "-", "--json").json[0]["payload"] == {"from": "pipe"}


def test_a_big_number_survives(run: type[Ran]) -> None:
    assert f'"payload":{{"n":{10**30}}}' in run("submit", "echo", f'{{"n":{10**30}}}', "--json").out


def test_submit_can_wait_for_the_result(run: type[Ran], hand: Hand, api: Api) -> None:
    key = "only-once"
    task_id = api.submit(idempotency_key=key)
    hand.succeed('{"n":1}')
    ran = run("submit", "echo", "--key", key, "--wait", "5")
    assert (ran.code, ran.out) == (0, '{"n":1}\n')
    assert run("result", task_id).out == '{"n":1}\n'


def test_who_waits_learns_from_the_exit_code_how_it_ended(run: type[Ran], hand: Hand, api: Api) -> None:
    task_id = api.submit(idempotency_key="k")
    assert run("result", task_id, "--wait", "0.1").code == 4
    hand.fail(message="no luck")
    ran = run("submit", "echo", "--key", "k", "--wait", "5")
    assert (ran.code, ran.out) == (3, "dead_lettered  ValueError: no luck\n")
    assert run("result", task_id, "--wait", "5", "--json").code == 3
    assert run("result", task_id).code == run("show", task_id).code == 0  # looking is no waiting


def test_text_is_aligned_and_tells_the_essentials(run: type[Ran], hand: Hand, api: Api) -> None:
    task_id = api.submit()
    hand.fail(message="no luck")
    listed = run("list").out.splitlines()
    assert listed[0].split() == ["ID", "STATUS", "ATTEMPT", "QUEUE", "TYPE", "CREATED"]
    assert listed[1].startswith(f"{task_id}  dead_lettered  1/5")
    shown = run("show", task_id).out
    for part in ("dead_lettered", "ValueError: no luck", "traceback:", "attempt", "failed"):
        assert part in shown
    assert "ValueError: no luck" in run("dlq").out
    assert run("dlq", "--groups").out.splitlines()[1].split()[0] == "1"
    assert run("list", "--status", "queued").out == "none\n"


def test_the_next_page_is_offered(run: type[Ran], api: Api) -> None:
    ids = [api.submit() for _ in range(3)]
    out = run("list", "--limit", "2").out
    cursor = out.rpartition("more: --cursor ")[2].strip()
    assert ids[0] in run("list", "--limit", "2", "--cursor", cursor).out


def test_nothing_a_terminal_would_obey_gets_through(run: type[Ran], api: Api, hand: Hand) -> None:
    task_id = api.submit(payload={"a": "\x1b[2J\u202eevil"}, metadata={"b": "\x9b"})
    [claimed] = hand.claim()
    hand.note(claimed, 0.5, "\x1b]0;title\x07", "\x1b[31mred", "two\nlines")
    out = run("show", task_id).out + run("result", task_id).out
    assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(out)
    assert "\\u001b[31mred" in out


@pytest.mark.parametrize(
    ("word", "status", "becomes"),
    [
        ("cancel", TaskStatus.QUEUED, "cancelled"),
        ("requeue", TaskStatus.DEAD_LETTERED, "queued"),
        ("discard", TaskStatus.FAILED, None),
        ("run-now", TaskStatus.PENDING, "queued"),
    ],
)
def test_actions_act_and_leave_their_trace(
    run: type[Ran], api: Api, hand: Hand, word: str, status: TaskStatus, becomes: str | None
) -> None:
    task_id = api.submit(delay_seconds=60 if status is TaskStatus.PENDING else 0)
    if status.is_terminal:
        hand.fail(status)
    ran = run(word, task_id)
    assert (ran.code, ran.out.split()[0]) == (0, task_id)
    assert api.get(f"tasks/{task_id}").body.get("status") == becomes
    entry = api.get("audit").body["items"][0]
    assert entry["actor"] == actions.actor().name
    assert entry["actor"].startswith("cli:")
    assert entry["task_id"] == task_id
    assert entry["actor"] in run("audit").out
    assert f"task:{task_id}" in run("audit").out


def test_a_refusal_ends_with_one_line_and_code_1_and_keeps_no_other_task_waiting(
    run: type[Ran], api: Api, hand: Hand
) -> None:
    running = api.submit()
    hand.claim()
    first, second = api.submit(), api.submit()
    ran = run("cancel", first, UNKNOWN, running, second)
    assert ran.code == 1
    assert ran.out.splitlines() == [f"{first}  cancelled", f"{second}  cancelled"]
    assert ran.err.splitlines() == [
        f"NOT_FOUND: There is no task {UNKNOWN}",
        f"CANCEL_REQUESTED: The task is running; its worker was told to stop it (task {running})",
    ]
    assert api.get(f"tasks/{second}").body["status"] == "cancelled"
    assert run("requeue", second).code == 1
    assert run("show", UNKNOWN).code == 1
    assert run("pause", "unknown").code == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["submit", "1"], "TYPE must match"),
        (["submit", "echo", "{"], "Not JSON"),
        (["submit", "echo", "@/no/such/file"], "No such file"),
        (["submit", "echo", "[]"], "JSON must be an object"),
        (["submit", "echo", "--metadata", "x"], "Not JSON"),
        (["submit", "echo", "--max-attempts", "0"], "--max-attempts must be a whole number"),
        (["list", "--cursor", "x"], "cursor"),
        (["list", "--after", "soon"], "--after must be ISO 8601"),
        (["pause", "default", "--until", "soon"], "--until must be ISO 8601"),
    ],
)
def test_what_was_asked_wrongly_ends_with_code_2(run: type[Ran], api: Api, words: list[str], told: str) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["submit", "echo", "--delay", "1", "--run-at", "2030-01-31T12:00:00Z"],
        ["fly"],
        ["show"],
        ["list", "--limit", "0"],
        ["list", "--limit", "x"],
        ["list", "--status", "done"],
        ["result", UNKNOWN, "--wait", "-1"],
        ["cancel"],
    ],
)
def test_bad_usage_ends_with_code_2(run: type[Ran], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        assert run(*words).code == 2
        assert "usage:" in capsys.readouterr().err
    except CommandError:
        assert words in ([], ["fly"])  # Django's own parser raises where the shell would exit with 2


def test_pause_resume_and_purge(run: type[Ran], api: Api, hand: Hand) -> None:
    api.submit()
    assert "cli:" in run("pause", "default", "--reason", "moving", "--until", "2099-01-01T00:00:00Z").out
    assert hand.claim() == []
    assert run("resume", "default", "--json").json[0]["paused"] is None
    assert run("purge", "default").out == "1 done, 0 remaining\n"


def test_all_that_died_alike_come_back_together(
    run: type[Ran], api: Api, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "MAX_BATCH", 2)  # so that five take several pages

    def die(message: str = "no", **fields: Any) -> str:
        task_id = api.submit(**fields)
        assert hand.fail(message=message) == [task_id]
        return task_id

    alike = [die() for _ in range(5)]
    other = die(message="something else")
    groups = run("dlq", "--groups", "--json").json[0]["items"]
    by_count = {group["count"]: group["fingerprint"] for group in groups}
    ran = run("requeue", "--fingerprint", by_count[5], "--json")
    assert (ran.code, sorted(line["id"] for line in ran.json)) == (0, sorted(alike))
    assert {api.get(f"tasks/{task_id}").body["status"] for task_id in alike} == {"queued"}
    assert api.get(f"tasks/{other}").body["status"] == "dead_lettered"
    assert run("requeue", "--fingerprint", by_count[5]).code == 0
    for wrong in (("requeue",), ("requeue", other, "--fingerprint", by_count[5])):
        assert run(*wrong).code == 2


def test_purging_dead_letters(run: type[Ran], api: Api, hand: Hand) -> None:
    api.submit()
    hand.fail()
    assert run("dlq", "--purge", "--json").json == [{"done": 1, "remaining": 0}]


def test_an_unreadable_record_is_listed_and_can_be_discarded(
    run: type[Ran], api: Api, redis_client: redis.Redis
) -> None:
    task_id = api.submit()
    redis_client.hset(f"dtq:task:{task_id}", "created_at", 10**18)
    assert run("list").code == 0
    redis_client.hdel(f"dtq:task:{task_id}", "status")
    assert "unreadable" in run("list").out
    assert run("show", task_id).code == 1
    assert run("discard", task_id).code == 0
