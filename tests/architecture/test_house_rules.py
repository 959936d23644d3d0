"""Rules of the house that a reader would otherwise have to check by eye."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from tests.architecture.documents import DOCUMENTS
from tests.architecture.sources import PRODUCT, files, imported, name, tracked, tree

# Written in pieces, so that this file does not hold what it looks for.
UNWANTED = re.compile(
    "|".join(
        [
            r"\bTO" + r"DO\b",
            r"\bFIX" + r"ME\b",
            r"\bX" + r"XX\b",
            r"/wor" + r"k/",
            r"/hom" + r"e/[a-z]",
            r"pypi\." + r"org",
            r"python" + r"hosted\.org",
            r"registry\.npm" + r"js\.org",
        ]
    )
)
TEXT = {".py", ".lua", ".md", ".html", ".css", ".js", ".toml", ".txt", ".cfg", ".yml", ".yaml", ".sh", ""}
CODE = {".py", ".lua", ".css", ".js"}


def may_pause(path: Path) -> bool:
    """``until`` is what tests wait with; benchmarks measure time; handlers that tests run as tasks may take some."""
    return name(path) == "tests/support/until.py" or "benchmarks" in path.parts or path.name == "tasks.py"


@pytest.mark.parametrize("path", [p for p in tracked() if p.suffix in TEXT], ids=name)
def test_nothing_is_left_lying_about(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = UNWANTED.search(text)
    assert not found, f"line {text[: found.start()].count(chr(10)) + 1}: {found[0]}"


@pytest.mark.parametrize("path", [p for p in files("tests", suffix=".py") if not may_pause(p)], ids=name)
def test_no_test_sleeps(path: Path) -> None:
    naps = [
        node.lineno
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Attribute) and node.func.attr == "sleep")
            or (isinstance(node.func, ast.Name) and node.func.id == "sleep")
        )
    ]
    assert not naps, f"waits for seconds instead of facts in lines {naps}"


@pytest.mark.parametrize("path", files("tasks_app/domain", suffix=".py"), ids=name)
def test_the_domain_needs_nothing_but_the_standard_library(path: Path) -> None:
    foreign = [
        module
        for module in imported(path)
        if module.split(".")[0] not in sys.stdlib_module_names and not module.startswith("tasks_app.domain")
    ]
    assert not foreign


@pytest.mark.parametrize("path", files("workers/engine", suffix=".py"), ids=name)
def test_the_engine_knows_no_web(path: Path) -> None:
    assert not [module for module in imported(path) if module.split(".")[0] in {"django", "rest_framework"}]


@pytest.mark.parametrize("path", [p for p in tracked() if p.suffix in CODE], ids=name)
def test_no_file_grows_past_300_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300


@pytest.mark.parametrize("path", files(*PRODUCT, suffix=".py"), ids=name)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    module = tree(path)
    assert not module.body or ast.get_docstring(module)


@pytest.mark.parametrize("path", files(*PRODUCT, suffix=".py"), ids=name)
def test_no_error_is_ignored_without_a_reason(path: Path) -> None:
    lines = path.read_text().splitlines()
    ignored = [
        handler.lineno
        for handler in ast.walk(tree(path))
        if isinstance(handler, ast.ExceptHandler)
        and all(isinstance(node, ast.Pass) and "#" not in lines[node.lineno - 1] for node in handler.body)
    ]
    assert not ignored, f"lines {ignored} give no reason"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_a_generated_document_is_current(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == DOCUMENTS[path]()
