"""The project's own files, for tests that read them."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("dtq_site", "tasks_app", "workers")
STORE = ROOT / "tasks_app" / "store"
LUA = STORE / "lua"


def files(*folders: str, suffix: str) -> list[Path]:
    """Every file below ``folders`` with that suffix, generated migrations and caches left out."""
    return sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob(f"*{suffix}")
        if "migrations" not in path.parts and "__pycache__" not in path.parts
    )


def tracked() -> list[Path]:
    """What version control holds or would hold, so what a reader gets."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    return [path for name in listed.stdout.splitlines() if (path := ROOT / name).is_file()]


def name(path: Path) -> str:
    """The path as a reader knows it; also the id of a generated test."""
    return str(path.relative_to(ROOT))


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever it does so."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def strings(path: Path) -> Iterator[str]:
    """Every string of a Python file but its docstrings."""
    module = tree(path)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(module)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value
