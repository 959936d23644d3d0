"""The tables of docs/access.md, and the URLs that the site really has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.urls import URLPattern, URLResolver, get_resolver

from dtq_site.streams import ASYNC_APPS

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "access.md"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
PEOPLE = ("anonymous", "viewer", "operator", "admin")
KEYS = ("no key", "read", "submit", "operate", "for some queues")


@dataclass(frozen=True)
class Row:
    """What one URL answers to some methods: per column the word in its cell."""

    url: str
    methods: frozenset[str]
    cells: dict[str, str]


def documented() -> list[Row]:
    """A row for each URL of each line of each table."""
    found: list[Row] = []
    columns: list[str] = []
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[:2] == ["URL", "method"]:
            columns = cells[2:]
        elif not line.startswith("|"):
            columns = []
        elif columns and cells[0].startswith("`"):
            methods = frozenset(re.findall(r"[A-Z]+", cells[1]))
            answers = dict(zip(columns, cells[2:], strict=True))
            found += [Row(url, methods, answers) for url in re.findall(r"`([^`]+)`", cells[0])]
    return found


def served() -> set[str]:
    """Every URL of the site: what Django resolves, and what the front answers before it."""
    return {*(plain(url) for url in _walk(get_resolver().url_patterns, "/")), *ASYNC_APPS}


def plain(url: str) -> str:
    """A URL without the names in its placeholders, by which documents and code tell one from another."""
    return re.sub(r"<[^>]*>", "<>", url)


def _walk(patterns: list[URLPattern | URLResolver], start: str) -> Iterator[str]:
    for entry in patterns:
        url = start + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from _walk(entry.url_patterns, url)
        else:
            yield f"{url}<anything else>" if url == "/api/v1/" else url
