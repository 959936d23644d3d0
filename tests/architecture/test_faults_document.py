"""docs/faults.md: each row names the test that proves it, and each fault's test has its row."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.sources import tree

PROJECT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (?P<fault>[^|]+) \|.*\| `(?P<path>tests/[a-z_/]+\.py)::(?P<test>test_\w+)` \|$", re.MULTILINE)
TEXT = (PROJECT / "docs" / "faults.md").read_text(encoding="utf-8")
ROWS = [(match["fault"], match["path"], match["test"]) for match in ROW.finditer(TEXT)]
WHOLE = ("test_links", "test_failover", "test_access", "test_signals")
"""Modules of tests/process that are about faults and nothing else."""


def named_in(path: Path) -> set[str]:
    return {
        node.name
        for node in tree(path).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


def test_every_row_of_the_matrix_is_read() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| ")]
    assert len(ROWS) == len(rows) - 1 > 20  # one is the heading


@pytest.mark.parametrize(("fault", "path", "test"), ROWS, ids=[fault for fault, _, _ in ROWS])
def test_each_row_is_proved_by_a_test(fault: str, path: str, test: str) -> None:
    assert test in named_in(PROJECT / path)


@pytest.mark.parametrize("module", WHOLE)
def test_each_test_of_a_fault_has_its_row(module: str) -> None:
    path = f"tests/process/{module}.py"
    assert named_in(PROJECT / path) == {test for _, where, test in ROWS if where == path}
