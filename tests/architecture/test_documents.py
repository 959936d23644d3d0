"""The document of keys says what the code builds: no more, no less."""

from __future__ import annotations

import re

import pytest

from tasks_app.domain.status import TaskStatus
from tasks_app.store.keys import FAMILY, SINGLE, Keys
from tests.support.keyspace import DOCUMENT, ENDS, documented

KEYS = Keys("dtq")
BUILT = {
    KEYS.task("0" * 32),
    KEYS.attempts("0" * 32),
    KEYS.log("0" * 32),
    KEYS.stream("mail", 9),
    KEYS.idempotency("mail", "k"),
    KEYS.worker("w1"),
    KEYS.control("w1"),
    KEYS.paused("mail"),
    KEYS.wake("mail"),
    KEYS.dead_index("f00"),
    KEYS.fingerprint("f00"),
    *(KEYS.stats(grain, 28_000_000) for grain in "mth"),
    *(KEYS.index(status) for status in TaskStatus),
    KEYS.index("queued", queue="mail"),
    KEYS.index("queued", task_type="echo"),
    *(f"dtq:{rest}" for rest in SINGLE.values()),
}


@pytest.mark.parametrize("key", sorted(BUILT))
def test_every_key_is_documented(key: str) -> None:
    assert any(row.matches(key) for row in documented())


@pytest.mark.parametrize("row", documented(), ids=lambda row: row.name)
def test_every_documented_key_exists(row: object) -> None:
    rest = row.name.removeprefix("dtq:")  # type: ignore[attr-defined]
    assert rest.startswith((*FAMILY.values(), *SINGLE.values()))


@pytest.mark.parametrize("row", documented(), ids=lambda row: row.name)
def test_every_documented_key_has_an_end(row: object) -> None:
    assert row.ends.startswith(ENDS)  # type: ignore[attr-defined]


def test_every_row_is_read() -> None:
    rows = re.findall(r"^\| `dtq:", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == len(documented())
    assert len({row.name for row in documented()}) == len(rows)


def test_every_family_and_single_is_documented() -> None:
    names = [row.name.removeprefix("dtq:") for row in documented()]
    for opening in (*FAMILY.values(), *SINGLE.values()):
        assert any(name.startswith(opening) for name in names), opening
