"""Records between Redis' bytes and the domain's shapes, where no server is needed."""

from __future__ import annotations

import pytest

from tasks_app.domain.errors import UnreadableRecord
from tasks_app.domain.snapshot import Pause
from tasks_app.store import codec

WHOLE = {
    "status": b"queued",
    "task_type": b"echo",
    "queue": b"default",
    "priority": b"5",
    "attempt": b"1",
    "max_attempts": b"3",
    "timeout_ms": b"1000",
    "created_at": b"1700000000000",
    "payload": b"{}",
}


def decode(**changes: bytes | None) -> object:
    fields = {**WHOLE, **changes}
    return codec.decode_task("t1", codec.DETAIL, [fields.get(name) for name in codec.DETAIL])


def test_a_whole_record_decodes() -> None:
    task = decode(progress=b"0.5", cancel_requested=b"1", give_backs=b"2", requeues=b"3", traceback=b"")
    for name, value in {
        "progress": 0.5,
        "cancel_requested": True,
        "give_backs": 2,
        "requeues": 3,
        "traceback": None,
    }.items():
        assert getattr(task, name) == value


@pytest.mark.parametrize("name", WHOLE)
def test_a_missing_field_is_named(name: str) -> None:
    with pytest.raises(UnreadableRecord, match=f"missing: {name}"):
        decode(**{name: None})


@pytest.mark.parametrize(
    "changes",
    [
        {"status": b"sleeping"},
        {"attempt": b"one"},
        {"created_at": b""},
        {"progress": b"half"},
        {"payload": b"{"},
        {"result": b"\xff"},
        {"metadata": b"[]"},
        {"metadata": b"{"},
        {"error_message": b"\xff"},
        {"give_backs": b"x"},
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(changes: dict[str, bytes]) -> None:
    with pytest.raises(UnreadableRecord) as told:
        decode(**changes)
    assert told.value.details == {"task_id": "t1"}


def test_a_row_without_a_record_is_none() -> None:
    assert codec.decode_row("t1", [None] * len(codec.SUMMARY)) is None


@pytest.mark.parametrize(
    ("text", "task_id"),
    [(b'{"task_id":"t1"}', "t1"), (b'{"task_id":7}', None), (b"{", None), (b"[]", None), (b"7", None), (b"\xff", None)],
)
def test_an_idempotency_record_names_its_task_or_nothing(text: bytes, task_id: str | None) -> None:
    assert codec.decode_holder(text) == task_id


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        *((None, 0), ("", 0), ("7", 7), (b"7", 7), (7, 7), (7.9, 7), ("9" * 15, 10**15 - 1)),
        *(("-1", 0), ("1.5", 0), ("x", 0), (b"\xff", 0), ("9" * 16, 0), ("9" * 5000, 0)),
        *((-1.0, 0), (1e15, 0), (float("inf"), 0), (float("nan"), 0)),
    ],
)
def test_a_number_is_one_that_the_queue_could_have_written(raw: str | bytes | float | None, read: int) -> None:
    assert codec.number(raw) == read


@pytest.mark.parametrize(("raw", "read"), [("1000", 1000), ("253402300799999", 253_402_300_799_999), ("9" * 15, 0)])
def test_a_moment_is_within_the_calendar(raw: str, read: int) -> None:
    assert codec.moment(raw) == read


@pytest.mark.parametrize(
    ("text", "pause"),
    [
        (b'{"by":"op","at":5,"reason":"r","until":9}', Pause("op", 5, "r", 9)),
        (b'{"by":"op","at":5}', Pause("op", 5, "", None)),
        (b'{"by":1,"at":1e999,"reason":[],"until":"soon"}', Pause("", 0, "(unreadable)")),
        (b'{"by":1,"at":1e300,"reason":[1]}', Pause("1", 0, "[1]")),
        (b"[]", Pause("", 0, "(unreadable)")),
    ],
)
def test_a_damaged_pause_still_pauses(text: bytes, pause: Pause) -> None:
    assert codec.decode_pause(text) == pause
