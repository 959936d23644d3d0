"""Everything a server holds, read raw: for comparing before and after, and for the invariants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

RawClient = Any
"""A client whose replies are bytes; the library's own types allow for text as well, which no test asks for."""

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "redis-keys.md"
ENDS = ("TTL", "capped", "emptied", "kept", "with its task", "not a key")
_ROW = re.compile(r"^\| `(?P<name>[^`]+)` \| (?P<kind>[^|]+) \| (?P<holds>[^|]+) \| (?P<ends>[^|]+) \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class DocumentedKey:
    """A row of ``docs/redis-keys.md``. ``ends`` opens with one of ``ENDS``."""

    name: str
    kind: str
    ends: str

    pattern: re.Pattern[str]

    def matches(self, key: str) -> bool:
        return self.pattern.fullmatch(key) is not None


@cache
def documented() -> list[DocumentedKey]:
    """The keys that the document names, in its order."""
    text = DOCUMENT.read_text(encoding="utf-8")
    return [
        DocumentedKey(row["name"], row["kind"].strip(), row["ends"].strip(), _pattern(row["name"]))
        for row in _ROW.finditer(text)
        if row["name"].startswith("dtq:")
    ]


def _pattern(name: str) -> re.Pattern[str]:
    parts = re.split(r"(<[^>]+>)", name)
    return re.compile("".join(".+" if p.startswith("<") else re.escape(p) for p in parts))


COUNTS = ("dtq:stats:m:",)
"""Where it is counted that a call came, also one that changed nothing."""


def dump(client: RawClient, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Every key with its type, its value and the moment it expires; keys that start with ``without`` left out."""
    found = {}
    for raw in client.keys("*"):
        key = raw.decode(errors="backslashreplace")
        if not key.startswith(without or ("\x00",)):
            kind = client.type(raw).decode()
            found[key] = (kind, _value(client, raw, kind), client.pexpiretime(raw))
    return found


def _value(client: RawClient, key: bytes, kind: str) -> Any:
    match kind:
        case "string":
            return client.get(key)
        case "hash":
            return client.hgetall(key)
        case "set":
            return client.smembers(key)
        case "zset":
            return client.zrange(key, 0, -1, withscores=True)
        case "list":
            return client.lrange(key, 0, -1)
        case "stream":
            groups = [group["name"] for group in client.xinfo_groups(key)]
            return client.xrange(key), {group: pending(client, key, group) for group in groups}
    raise AssertionError(f"{key!r} is a {kind}, which nothing here should be")


def pending(client: RawClient, stream: str | bytes, group: str | bytes) -> dict[str, str]:
    """The group's delivered and unacknowledged entries: entry id -> consumer."""
    rows = client.xpending_range(stream, group, "-", "+", 10_000)
    return {row["message_id"].decode(): row["consumer"].decode() for row in rows}
