"""A request to run a task: each field's rule, its edges, and what fills the gaps."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.config import Config
from tasks_app.domain.errors import DtqError, PayloadTooLarge, ValidationError
from tasks_app.domain.submission import Defaults, Submission, parse_submission, ttl_ms

CONFIG = Config()


def parse(declared: Defaults = Defaults(), config: Config = CONFIG, /, **raw: Any) -> Submission:
    return parse_submission({"task_type": "echo"} | raw, config, declared)


def problems(raw: object) -> dict[str, list[str]]:
    with pytest.raises(ValidationError) as refused:
        parse_submission(raw, CONFIG)
    return refused.value.fields


def test_only_the_type_is_required() -> None:
    assert parse() == Submission(
        task_type="echo",
        payload_json="{}",
        queue="default",
        priority=5,
        max_attempts=5,
        timeout_ms=30_000,
        metadata_json="{}",
        delay_ms=0,
        run_at_ms=0,
        ttl_ms=None,
        idempotency_key=None,
    )


def test_everything_can_be_given() -> None:
    assert parse(
        task_type="mail.send:v2",
        payload={"to": "a@b", "n": [1, {}]},
        queue="mail",
        priority=9,
        max_attempts=1,
        timeout_ms=1,
        delay_seconds=1.5,
        idempotency_key="order 42",
        metadata={"ttl_seconds": 60, "who": "漢"},
    ) == Submission(
        task_type="mail.send:v2",
        payload_json='{"to":"a@b","n":[1,{}]}',
        queue="mail",
        priority=9,
        max_attempts=1,
        timeout_ms=1,
        metadata_json='{"ttl_seconds":60,"who":"漢"}',
        delay_ms=1500,
        ttl_ms=60_000,
        idempotency_key="order 42",
    )


@pytest.mark.parametrize("raw", [None, [], "x", 1, [{}], b"{}"])
def test_a_body_that_is_no_object_is_refused(raw: object) -> None:
    assert problems(raw) == {"body": ["must be a JSON object"]}


@pytest.mark.parametrize("name", ["status", "attempt", "taskType", "", "x" * 100])
def test_an_unknown_field_is_refused(name: str) -> None:
    assert problems({"task_type": "echo", name: 1}) == {name[:64]: ["is not a field of a task"]}


def test_every_problem_is_told_at_once() -> None:
    found = problems({"queue": "A", "priority": 10, "payload": [], "odd": 1})
    assert set(found) == {"task_type", "queue", "priority", "payload", "odd"}
    assert found["task_type"] == ["is required"]


@pytest.mark.parametrize("name", ["a", "_", "a" * 128, "Mail.send:v2-x_1"])
def test_task_types_that_are_accepted(name: str) -> None:
    assert parse(task_type=name).task_type == name


@pytest.mark.parametrize("name", ["", "1a", ".a", "a b", "a/b", "ü", "a" * 129, "a\n", "a\x00", 7, ["a"], True])
def test_task_types_that_are_refused(name: object) -> None:
    assert list(problems({"task_type": name})) == ["task_type"]


@pytest.mark.parametrize("name", ["0", "a", "a-b_c", "a" * 64])
def test_queues_that_are_accepted(name: str) -> None:
    assert parse(queue=name).queue == name


@pytest.mark.parametrize(
    "name",
    ["", "A", "-a", "_a", "a:b", "a/b", "a#b", "a?b=1", "a b", "..", "%2F", "{x}", "ü", "a ", "a" * 65, "a\n", 1],
)
def test_queues_that_are_refused(name: object) -> None:
    assert list(problems({"task_type": "echo", "queue": name})) == ["queue"]


@pytest.mark.parametrize(
    ("name", "low", "high"), [("priority", 0, 9), ("max_attempts", 1, 100), ("timeout_ms", 1, 3_600_000)]
)
def test_whole_numbers_and_their_edges(name: str, low: int, high: int) -> None:
    assert getattr(parse(**{name: low}), name) == low
    assert getattr(parse(**{name: high}), name) == high
    for odd in (low - 1, high + 1, 1.0, 5.5, "5", True, [5], float("nan")):
        assert list(problems({"task_type": "echo", name: odd})) == [name]


def test_the_limit_of_attempts_is_a_setting() -> None:
    config = Config(max_attempts=3, default_max_attempts=2)
    assert parse(Defaults(), config).max_attempts == 2
    assert parse(Defaults(), config, max_attempts=3).max_attempts == 3
    with pytest.raises(ValidationError):
        parse(Defaults(), config, max_attempts=4)


def test_the_handler_fills_what_is_left_out() -> None:
    declared = Defaults(queue="mail", priority=0, max_attempts=7, timeout_ms=99)
    filled = parse(declared)
    assert (filled.queue, filled.priority, filled.max_attempts, filled.timeout_ms) == ("mail", 0, 7, 99)
    given_ = parse(declared, queue="q", priority=1, max_attempts=2, timeout_ms=3)
    assert (given_.queue, given_.priority, given_.max_attempts, given_.timeout_ms) == ("q", 1, 2, 3)


def test_a_handler_that_declares_too_many_attempts_gets_the_limit() -> None:
    assert parse(Defaults(max_attempts=1000)).max_attempts == 100


@pytest.mark.parametrize(("delay", "expected"), [(0, 0), (0.0004, 0), (0.25, 250), (31_536_000, 31_536_000_000)])
def test_delays_that_are_accepted(delay: float, expected: int) -> None:
    assert parse(delay_seconds=delay).delay_ms == expected


@pytest.mark.parametrize(
    "delay", [-5, -0.001, 31_536_001, 2**31 * 1000, 1e18, float("nan"), float("inf"), "5", True, []]
)
def test_delays_that_are_refused(delay: object) -> None:
    assert list(problems({"task_type": "echo", "delay_seconds": delay})) == ["delay_seconds"]


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2030-01-31T12:00:00+01:00", 1_896_087_600_000),
        ("2030-01-31T11:00:00Z", 1_896_087_600_000),
        ("2030-01-31T16:30:00.250+05:30", 1_896_087_600_250),
        ("1970-01-01T00:00:00Z", 1),
        ("1950-06-01T00:00:00+00:00", 1),
        ("0001-01-01T00:00:00+14:00", 1),
        ("9999-12-31T23:59:59.999+00:00", 253_402_300_799_999),
    ],
)
def test_moments_that_are_accepted(moment: str, expected: int) -> None:
    parsed = parse(run_at=moment)
    assert (parsed.run_at_ms, parsed.delay_ms) == (expected, 0)


@pytest.mark.parametrize(
    "moment",
    [
        "9999-12-31T23:59:59-12:00",
        "",
        "soon",
        "2030-01-31T12:00:00",
        "2030-01-31",
        "2030-02-31T00:00:00Z",
        "1e18",
        1e18,
        0,
        [],
        True,
    ],
)
def test_moments_that_are_refused(moment: object) -> None:
    assert list(problems({"task_type": "echo", "run_at": moment})) == ["run_at"]


def test_delay_and_moment_exclude_each_other() -> None:
    found = problems({"task_type": "echo", "delay_seconds": 1, "run_at": "2030-01-31T12:00:00Z"})
    assert found == {"run_at": ["and delay_seconds exclude each other"]}


@pytest.mark.parametrize("key", ["a", " ", "~", "x" * 255, "a/b:c#d?e=1"])
def test_idempotency_keys_that_are_accepted(key: str) -> None:
    assert parse(idempotency_key=key).idempotency_key == key


@pytest.mark.parametrize("key", ["", "x" * 256, "ü", "a\n", "\x7f", "\x1f", 5])
def test_idempotency_keys_that_are_refused(key: object) -> None:
    assert list(problems({"task_type": "echo", "idempotency_key": key})) == ["idempotency_key"]


@pytest.mark.parametrize("name", ["payload", "metadata"])
@pytest.mark.parametrize("value", [[], "x", 0, False, {"a": float("nan")}, {"a": "\ud800"}, {1: 2}, {"a": (1,)}])
def test_objects_that_are_refused(name: str, value: object) -> None:
    assert list(problems({"task_type": "echo", name: value})) == [name]


@pytest.mark.parametrize(
    "name", ["payload", "queue", "priority", "delay_seconds", "run_at", "idempotency_key", "metadata"]
)
def test_null_counts_as_left_out(name: str) -> None:
    assert parse(**{name: None}) == parse()


def test_the_payload_has_a_limit_in_bytes() -> None:
    config = Config(max_payload_bytes=14)
    assert parse(Defaults(), config, payload={"a": "12345678"[:6]}).payload_json == '{"a":"123456"}'
    assert parse(Defaults(), config, payload={"a": "漢漢"}).payload_json == '{"a":"漢漢"}'
    with pytest.raises(PayloadTooLarge) as refused:
        parse(Defaults(), config, payload={"a": "漢漢漢"})
    assert refused.value.details == {"limit_bytes": 14}


def test_the_metadata_has_a_limit_in_bytes() -> None:
    room = 4096 - len('{"a":""}')
    assert parse(metadata={"a": "x" * room})
    assert list(problems({"task_type": "echo", "metadata": {"a": "x" * (room + 1)}})) == ["metadata"]
    assert list(problems({"task_type": "echo", "metadata": {"a": "漢" * (room // 2)}})) == ["metadata"]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"ttl_seconds": 5}, 5000),
        ({"ttl_seconds": 0.5}, 500),
        ({"ttl_seconds": 0.0001}, 1),
        ({"ttl_seconds": 1e11}, 10**14),
        ({"ttl_seconds": 0}, None),
        ({"ttl_seconds": -5}, None),
        ({"ttl_seconds": "5"}, None),
        ({"ttl_seconds": True}, None),
        ({"ttl_seconds": None}, None),
        ({"ttl_seconds": float("nan")}, None),
        ({"ttl_seconds": float("inf")}, None),
        ({"ttl_seconds": 10**400}, None),
        ({}, None),
        (None, None),
        ([], None),
    ],
)
def test_the_time_to_live(metadata: object, expected: int | None) -> None:
    assert ttl_ms(metadata) == expected


def test_the_fingerprint_tells_types_and_payloads_apart() -> None:
    base = parse(payload={"a": 1})
    assert len(base.fingerprint) == 32
    assert base.fingerprint == parse(payload={"a": 1}, queue="other", priority=0, idempotency_key="k").fingerprint
    assert base.fingerprint != parse(payload={"a": 2}).fingerprint
    assert base.fingerprint != parse(payload={"a": 1}, task_type="noop").fingerprint


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(
    st.dictionaries(
        st.sampled_from(["task_type", "payload", "queue", "priority", "max_attempts", "timeout_ms", "delay_seconds"])
        | st.sampled_from(["run_at", "idempotency_key", "metadata"])
        | st.text(),
        anything,
        max_size=6,
    )
)
def test_whatever_comes_is_parsed_or_refused_by_rule(raw: dict[str, Any]) -> None:
    try:
        parsed = parse_submission(raw, CONFIG)
    except DtqError as refused:
        assert refused.code in {"VALIDATION_ERROR", "PAYLOAD_TOO_LARGE"}
    else:
        assert 0 <= parsed.priority <= 9
        assert parsed.delay_ms == 0 or parsed.run_at_ms == 0
