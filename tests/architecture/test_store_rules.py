"""What stays true of the store's source: one writer of ``status``, one place for key names, no unbounded commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tasks_app.domain.transitions import VALID_TRANSITIONS
from tasks_app.store.keys import FAMILY, SINGLE
from tests.architecture.sources import LUA, PRODUCT, STORE, files, name, strings

SCRIPTS = sorted(LUA.glob("*.lua"))
PARTS = sorted((LUA / "lib").glob("*.lua"))
COMMENT = re.compile(r"--(?!#).*")
LITERAL = re.compile(r"'([^'\n]*)'")


def code(path: Path) -> str:
    """A Lua file without its comments, and without what it writes into the audit."""
    return "\n".join(line for line in COMMENT.sub("", path.read_text()).splitlines() if "audit(" not in line)


def test_there_are_scripts_to_look_at() -> None:
    assert len(SCRIPTS) > 10 and len(PARTS) > 5


@pytest.mark.parametrize("path", SCRIPTS + PARTS, ids=name)
def test_only_one_part_writes_the_status(path: Path) -> None:
    writes = re.findall(r"redis\.p?call\('H(?:SET|SETNX|MSET|INCRBY|DEL)'[^\n]*'status'", code(path))
    if path.name == "transition.lua":
        assert writes
    else:
        assert not writes


@pytest.mark.parametrize("path", sorted(STORE.glob("*.py")), ids=name)
def test_no_python_writes_a_record(path: Path) -> None:
    assert not re.search(r"\.(hset|hmset|hsetnx|hincrby|hdel)\(", path.read_text())


@pytest.mark.parametrize("path", SCRIPTS + PARTS, ids=name)
def test_no_script_walks_the_keyspace(path: Path) -> None:
    assert not re.search(r"call\('(KEYS|SCAN|FLUSHALL|FLUSHDB|SMEMBERS_?ALL|SORT)'", code(path))


@pytest.mark.parametrize("path", files(*PRODUCT, suffix=".py"), ids=name)
def test_no_python_walks_the_keyspace(path: Path) -> None:
    assert not re.search(r"\.(scan|scan_iter|flushall|flushdb)\(|\.keys\(['\"f]", path.read_text())


@pytest.mark.parametrize("path", SCRIPTS + PARTS, ids=name)
def test_no_script_spells_a_key_itself(path: Path) -> None:
    openings = tuple(value for value in FAMILY.values()) + tuple(v for v in SINGLE.values() if ":" in v)
    spelled = [text for text in LITERAL.findall(code(path)) if text.startswith((*openings, "dtq"))]
    assert not spelled


@pytest.mark.parametrize("path", [p for p in files(*PRODUCT, suffix=".py") if p.name != "keys.py"], ids=name)
def test_no_python_spells_a_key_itself(path: Path) -> None:
    openings = tuple(f":{value}" for value in (*FAMILY.values(), *SINGLE.values()) if ":" in value)
    assert not [text for text in strings(path) if text.startswith("dtq:") or text.startswith(openings)]


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_every_script_has_exactly_one_caller(path: Path) -> None:
    called = re.compile(rf"[\"']{path.stem}[\"']")
    callers = [p for p in STORE.glob("*.py") if re.search(rf"run\(\s*[\"']{path.stem}[\"']", p.read_text())]
    mentions = [p for p in STORE.glob("*.py") if called.search(p.read_text())]
    assert len(callers or mentions) == 1, f"{path.name} is run by {[p.name for p in callers or mentions]}"


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_every_script_says_what_it_does(path: Path) -> None:
    assert path.read_text().startswith("-- ")


@pytest.mark.parametrize("path", PARTS, ids=name)
def test_every_part_is_included_somewhere(path: Path) -> None:
    includes = {
        part
        for script in SCRIPTS
        for line in re.findall(r"^--#include (.+)$", script.read_text(), re.M)
        for part in line.split()
    }
    assert path.stem in includes


def test_no_script_copies_the_table() -> None:
    pairs = {f"{current}>{target}" for current, targets in VALID_TRANSITIONS.items() for target in targets}
    for path in SCRIPTS + PARTS:
        assert not pairs & set(LITERAL.findall(code(path)))


@pytest.mark.parametrize("path", SCRIPTS + PARTS, ids=name)
def test_no_script_grows_past_300_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300
