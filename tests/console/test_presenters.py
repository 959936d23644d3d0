"""Words, numbers and reasons, without a server."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from tasks_app.console.filters import parse_search
from tasks_app.console.presenters import json_view, numbers, times
from tasks_app.console.presenters.charts import trend_of_kind
from tasks_app.console.presenters.curl import hint, submit_line
from tasks_app.console.presenters.forecast import drain_forecast
from tasks_app.console.presenters.statuses import STATUS_LOOKS
from tasks_app.console.presenters.timeline import timeline
from tasks_app.console.presenters.waiting import why_not_running
from tasks_app.console.tags import hours
from tasks_app.domain.errors import ValidationError
from tasks_app.domain.redaction import Redaction
from tasks_app.domain.snapshot import DeadLetterGroup, Pause, QueueFlow, QueueInfo, WorkerInfo
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Attempt, Task, TaskDetail

NOTHING = Redaction(())
TASK = Task(
    id="0" * 32,
    task_type="echo",
    queue="mail",
    priority=5,
    status=TaskStatus.QUEUED,
    attempt=1,
    max_attempts=3,
    timeout_ms=1000,
    created_at=1000,
)
QUEUE = QueueInfo("mail", 3, 0, 0, 0, 0, bands={9: 2, 5: 3, 1: 7})
WORKER = WorkerInfo("w", "ready", "h", 1, "1", 0, 0, concurrency=10, occupied=4, queues=(), processed=0, failed=0)


def _plain(html: str) -> str:
    return re.sub(r"<[^>]+>", "", html).replace("&quot;", '"').replace("&lt;", "<").replace("&amp;", "&")


def test_every_status_has_a_look_of_its_own() -> None:
    assert set(STATUS_LOOKS) == set(TaskStatus)
    assert len({(look.icon, look.word) for look in STATUS_LOOKS.values()}) == len(TaskStatus)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "—"), (0, "0"), (9_999, "9,999"), (12_345, "12.3k"), (999_960, "1.00M"), (1_040_000, "1.04M")],
)
def test_counts(value: int | None, text: str) -> None:
    assert numbers.count(value) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (None, "—"),
        (0.4, "0.4 ms"),
        (840, "840 ms"),
        (12_400, "12.4 s"),
        (185_000, "3m 05s"),
        (7_800_000, "2h 10m"),
        (30_000, "30 s"),
        (604_800_000, "7d"),
    ],
)
def test_durations(ms: float | None, text: str) -> None:
    assert numbers.duration(ms) == text


@pytest.mark.parametrize(
    ("ms", "kind", "text"),
    [
        (None, "ago", "—"),
        (99_500, "ago", "now"),
        (40_000, "ago", "1m ago"),
        (160_000, "until", "in 1m"),
        (90_000, "until", "due 10s ago"),
        (99_900, "until", "due now"),
        (92_000, "for", "8s"),
        (-60_000, "for", "2m 40s"),
        (-11_000_000, "for", "3h 05m"),
        (-360_000_000, "for", "4d 4h"),
    ],
)
def test_relative_times(ms: int | None, kind: str, text: str) -> None:
    assert times.relative(ms, kind, now=100_000) == text


def test_times_outside_the_calendar_are_unknown() -> None:
    assert times.exact(10**18) == "—"
    assert times.iso(-5) == ""


def test_json_keeps_every_digit_and_masks_secrets_at_any_depth() -> None:
    text = '{"n":9007199254740993,"f":1.0e5,"a":[[],{}],"Api_Key":{"deep":[1,2]},"list":[{"token":"t"},"token"]}'
    shown = json_view.view(text, Redaction(("api_key", "token")))
    assert shown is not None
    plain = _plain(shown.html)
    assert re.sub(r"\s", "", plain) == (
        '{"n":9007199254740993,"f":1.0e5,"a":[[],{}],"Api_Key":"***","list":[{"token":"***"},"token"]}'
    )
    assert json_view.masked_text(text, NOTHING) == text


def test_json_of_a_megabyte_and_lines_of_10_000_characters_stay_small() -> None:
    many = "[" + ",".join(['"abcdefgh"'] * 100_000) + "]"
    shown = json_view.view(many, NOTHING)
    assert shown is not None
    assert shown.cut
    assert len(shown.html) < 700_000
    long = json_view.view('{"line":"' + "x" * 10_000 + '"}', NOTHING)
    assert long is not None
    assert "9,602 more characters" in long.html


@pytest.mark.parametrize("text", ["", "{", '"open', "nonsense <b>", "[1,]", "}{][", '{"a":'])
def test_text_that_is_no_json_is_shown_escaped(text: str) -> None:
    shown = json_view.view(text, Redaction(("a",)))
    assert shown is not None
    assert "<b>" not in shown.html


def _told(detail: TaskDetail) -> list[tuple[str, int, str, int | None]]:
    return [(step.look.word, step.at, step.note, step.took_ms) for step in timeline(detail)]


def test_a_timeline_tells_each_wait_from_each_run() -> None:
    failed = Attempt(1, "failed", "w", started_at=5_000, ended_at=5_600, queued_at=4_000)
    lost = Attempt(2, "lost", "w", started_at=9_100, ended_at=12_000, queued_at=9_000)
    again = Attempt(3, "succeeded", "v", started_at=12_500, ended_at=13_000, queued_at=9_000)
    done = replace(TASK, status=TaskStatus.SUCCEEDED, attempt=3, finished_at=13_000, enqueued_at=9_000)
    assert _told(TaskDetail(done, [failed, lost, again])) == [
        ("scheduled", 1_000, "", 3_000),
        ("queued", 4_000, "", 1_000),
        ("running", 5_000, "attempt 1", 600),
        ("failed", 5_600, "attempt 1", None),
        ("retrying", 5_600, "", 3_400),
        ("queued", 9_000, "", 100),
        ("running", 9_100, "attempt 2", 2_900),
        ("worker lost", 12_000, "attempt 2", 500),
        ("running", 12_500, "attempt 3", 500),
        ("succeeded", 13_000, "", None),
    ]


def test_a_timeline_keeps_a_requeue_after_it_has_run_again() -> None:
    failed = Attempt(1, "failed", "w", started_at=1_010, ended_at=1_020, queued_at=1_000)
    again = Attempt(1, "succeeded", "w", started_at=8_005, ended_at=8_010, queued_at=8_000)
    done = replace(TASK, status=TaskStatus.SUCCEEDED, requeues=1, finished_at=8_010, enqueued_at=8_000)
    assert _told(TaskDetail(done, [failed, again])) == [
        ("submitted", 1_000, "", 10),
        ("running", 1_010, "attempt 1", 10),
        ("failed", 1_020, "attempt 1", 6_980),
        ("queued", 8_000, "requeued", 5),
        ("running", 8_005, "attempt 1", 5),
        ("succeeded", 8_010, "", None),
    ]


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (replace(TASK, enqueued_at=1_000), ["queued"]),
        (replace(TASK, status=TaskStatus.PENDING, due_at=9_000), ["scheduled"]),
        (replace(TASK, enqueued_at=9_000), ["scheduled", "queued"]),
        (replace(TASK, status=TaskStatus.CANCELLED, enqueued_at=1_000, finished_at=2_000), ["submitted", "cancelled"]),
        (
            replace(TASK, status=TaskStatus.EXPIRED, enqueued_at=3_000, finished_at=4_000),
            ["scheduled", "queued", "expired"],
        ),
    ],
)
def test_a_timeline_of_what_never_ran(task: Task, words: list[str]) -> None:
    assert [word for word, *_ in _told(TaskDetail(task))] == words


def test_a_day_of_a_kind_is_bars_with_words() -> None:
    bars = hours([0] * 20 + [1, 16_000, 0, 5])
    assert 'd="M60 16v-1h2v1M63 16v-16h2v16M69 16v-1h2v1"' in bars
    assert "16,006 in the last 24 h, 5 of them in the current hour" in bars
    assert 'd=""' in hours([0] * 24)


def test_the_current_hour_of_a_kind_is_not_drawn_as_a_fall() -> None:
    group = DeadLetterGroup("f", "t", "E", "m", 9, 0, 0, hourly=(0, 6, 3), current_hour=7_200_000)
    chart = trend_of_kind(group)
    assert json.loads(chart.json)["times"] == [0, 3600, 7200]
    assert chart.lines[0].values == [0, 6, None]
    assert chart.summary == "9 in the last 24 h; 3 of them in the current hour."
    assert trend_of_kind(replace(group, hourly=(0, 6, 6))).lines[0].values == [0, 6, 6]


def test_a_curl_line_quotes_what_a_shell_would_run() -> None:
    task = replace(TASK, payload_json='{"x":"it\'s $(rm -rf /) `id`","password":"p"}')
    line = submit_line(task, "http://h/", Redaction(("password",)), needs_key=True)
    assert "'\"'\"'s $(rm -rf /) `id`" in line
    assert '"password":"***"' in line
    assert "$DTQ_API_KEY" in line
    assert "***" in hint(task, Redaction(("password",)))
    assert hint(task, NOTHING) == ""


def test_a_curl_line_submits_the_metadata_too_and_says_where_a_long_payload_belongs() -> None:
    task = replace(TASK, metadata_json='{"ttl_seconds":5}')
    assert '"metadata":{"ttl_seconds":5}' in submit_line(task, "http://h/", NOTHING, needs_key=False)
    long = replace(TASK, payload_json='{"x":"' + "y" * 5000 + '"}')
    assert "@task.json" in submit_line(long, "http://h/", NOTHING, needs_key=False)
    assert "task.json" in hint(long, NOTHING)


@pytest.mark.parametrize(
    ("waiting", "flow", "paused", "text"),
    [
        (0, None, False, "empty"),
        (5, None, False, "not moving"),
        (5, QueueFlow(0, 10), True, "paused"),
        (100, QueueFlow(10, 60), False, "empty in 2m"),
        (100, QueueFlow(60, 60), False, "holding"),
        (100, QueueFlow(90, 60), False, "growing"),
        (10**9, QueueFlow(0, 10), False, "over a week"),
    ],
)
def test_forecasts(waiting: int, flow: QueueFlow | None, paused: bool, text: str) -> None:
    assert drain_forecast(waiting, flow, paused=paused).text == text


def _why(task: Task = TASK, queue: QueueInfo | None = QUEUE, workers: tuple[WorkerInfo, ...] = (WORKER,)) -> str:
    return "\n".join(reason.text + reason.tail for reason in why_not_running(task, queue, workers, "leader", 100))


def test_why_a_task_is_not_running() -> None:
    assert "2 waiting in higher bands" in _why()
    assert "2 others waiting in its band p5" in _why()
    assert "6 of 10 slots are free" in _why()
    assert "All 10 slots" in _why(workers=(replace(WORKER, occupied=10),))
    assert "No worker is alive" in _why(workers=())
    assert "No worker is alive" in _why(workers=(replace(WORKER, state="gone"),))
    assert "none serves queue mail" in _why(workers=(replace(WORKER, queues=("other",)),))
    paused = _why(queue=replace(QUEUE, pause=Pause("ada", 1, "lunch", 9)))
    assert "paused by ada: lunch" in paused
    assert "slots are free" not in paused
    assert why_not_running(replace(TASK, status=TaskStatus.RUNNING), QUEUE, [WORKER], "l", 100) == []
    due = replace(TASK, status=TaskStatus.RETRYING, due_at=5)
    assert "Next attempt:" in _why(due)
    assert "No scheduler leads" in "\n".join(r.text for r in why_not_running(due, QUEUE, [WORKER], None, 100))
    assert "Expires unless started" in _why(replace(TASK, expires_at=101))
    assert "it expires instead of running" in _why(replace(TASK, expires_at=100))


@pytest.mark.parametrize(
    ("known", "said", "starts"),
    [
        ([None], "", True),
        ([("echo", "noop")], "", True),
        (
            [("noop",)],
            "No worker that serves queue mail knows type echo: the one that takes it can only fail",
            False,
        ),
        ([(), ("noop",)], "No worker that serves queue mail knows type echo", False),
        ([("noop",), ("echo",), None], "1 of 3 workers that serve queue mail do not know type echo", True),
    ],
)
def test_workers_that_do_not_know_the_type(known: list[tuple[str, ...] | None], said: str, starts: bool) -> None:
    elsewhere = replace(WORKER, queues=("other",), task_types=("echo",))
    quiet = replace(WORKER, state="quiet", task_types=("echo",))
    told = _why(workers=(elsewhere, quiet, *(replace(WORKER, task_types=types) for types in known)))
    assert said in told
    assert ("know" in told) is bool(said)
    assert ("it should start any moment" in told) is starts


def test_the_search_box() -> None:
    assert parse_search("A" * 32).task_id == "a" * 32
    assert dict(parse_search("type:x queue:y status:dead key with words").params) == {
        "type": "x",
        "queue": "y",
        "status": "dead_lettered",
        "q": "key with words",
    }
    assert parse_search("foo:bar").params == (("q", "foo:bar"),)
    with pytest.raises(ValidationError):
        parse_search("status:melted")
