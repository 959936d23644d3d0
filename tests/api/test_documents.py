"""docs/api.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from django.core.management import load_command_class

from tasks_app.api.errors import HTTP_STATUS
from tasks_app.api.waiting import MAX_WAITERS

TEXT = (Path(__file__).parents[2] / "docs" / "api.md").read_text()


def test_every_code_is_explained_with_its_status() -> None:
    rows = re.findall(r"^\| (\d{3}) \| `([A-Z_]+)` \|", TEXT, re.MULTILINE)
    assert {code: int(status) for status, code in rows} == HTTP_STATUS
    assert [int(status) for status, _ in rows] == sorted(int(status) for status, _ in rows)


def test_every_word_of_the_shell_client_is_named() -> None:
    parser = load_command_class("tasks_app", "tasks").create_parser("manage.py", "tasks")
    [words] = re.findall(r"does the same without HTTP: `([^`]+)`", TEXT)
    assert set(words.split()) == set(re.findall(r"^    ([a-z-]+) ", parser.format_help(), re.MULTILINE))


def test_the_number_of_waiters_is_the_real_one() -> None:
    assert f"may wait ({MAX_WAITERS})" in TEXT
