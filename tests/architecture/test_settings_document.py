"""docs/settings.md names every setting, and nothing else."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from dtq_site.site import PREFIX, Site
from tasks_app.domain.config import Config

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "settings.md"


def test_each_setting_has_a_row_and_each_row_a_setting() -> None:
    rows = re.findall(r"^\| `DTQ_((?!DJANGO_)[A-Z_]+)` \| ([^|]+) \|", DOCUMENT.read_text(), re.MULTILINE)
    assert [name.lower() for name, _ in rows] != []
    assert sorted(name.lower() for name, _ in rows) == sorted(field.name for field in fields(Config))


def test_the_defaults_in_the_document_are_the_real_ones() -> None:
    rows = dict(re.findall(r"^\| `DTQ_((?!DJANGO_)[A-Z_]+)` \| ([^|]+) \|", DOCUMENT.read_text(), re.MULTILINE))
    for field in fields(Config):
        text = rows[field.name.upper()].strip()
        if isinstance(field.default, bool):
            assert text == str(field.default).lower(), field.name
        elif isinstance(field.default, int | float):
            assert float(text) == field.default, field.name
        elif isinstance(field.default, tuple) and field.default:
            assert text == ",".join(field.default), field.name


def test_the_sites_own_variables_are_the_documented_ones() -> None:
    rows = set(re.findall(r"^\| `(DTQ_DJANGO_[A-Z_]+)` \|", DOCUMENT.read_text(), re.MULTILINE))
    assert rows == {f"{PREFIX}{field.name.upper()}" for field in fields(Site)}
