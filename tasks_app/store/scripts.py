"""Loads the Lua scripts, renders the domain's table and the settings into them, and runs them.

Each file in ``lua/`` is one verb. ``--#include a b`` pulls in ``lua/lib/a.lua`` and ``lua/lib/b.lua``.
Settings are rendered rather than passed, so a call carries only what differs from call to call.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import redis
import redis.asyncio
from redis.exceptions import NoScriptError

from tasks_app.domain.config import Config
from tasks_app.domain.operation import TRIALS
from tasks_app.domain.status import TERMINAL, TaskStatus
from tasks_app.domain.transitions import REQUEUEABLE, VALID_TRANSITIONS
from tasks_app.store.connections import translating
from tasks_app.store.keys import GROUP, Keys

Argument = str | bytes | int | float

BUCKETS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000)
"""Upper bounds of the wait and run histograms; one more bucket takes what is longer."""

OTHER_TYPES = "other"
"""The type under which statistics sum up what has no place, or no type, of its own."""
ATTEMPTS_KEPT = 25
LOG_LINES = 500
AUDIT_MAXLEN = 100_000
MAX_API_KEYS = 1000
MAX_OPERATIONS = 200
"""Operations whose records are kept; the oldest that has ended makes room for a new one."""
MAX_OPERATING = 10
OPERATION_TTL_MS = 7 * 86_400_000
MINUTE_STATS_TTL_MS = 8 * 3_600_000
TEN_STATS_TTL_MS = 2 * 86_400_000
HOUR_STATS_TTL_MS = 8 * 86_400_000
LOCK_MS = 10_000
TOLD_MS = 86_400_000
"""How long a wish outlives the last heartbeat of the worker that it is for."""
GRACE_MS = 10_000
"""How long past its timeout a running task's lease may still be renewed."""

_LUA = Path(__file__).parent / "lua"
_INCLUDE = re.compile(r"^--#include (.+)$", re.MULTILINE)


@cache
def source(name: str) -> str:
    """The text of ``lua/<name>.lua`` with its includes expanded."""

    def expand(match: re.Match[str]) -> str:
        return "\n".join((_LUA / "lib" / f"{part}.lua").read_text() for part in match[1].split())

    return _INCLUDE.sub(expand, (_LUA / f"{name}.lua").read_text())


def prelude(keys: Keys, config: Config) -> str:
    """What every script knows: key names, the state machine, the settings."""
    numbers = {
        "RETENTION_MS": config.task_retention_s * 1000,
        "IDEM_TTL_MS": config.idem_ttl_s * 1000,
        "LEASE_MS": config.lease_ms,
        "MAX_QUEUE_DEPTH": config.max_queue_depth,
        "MAX_QUEUES": config.max_queues,
        "DLQ_MAXLEN": config.dlq_maxlen,
        "HEARTBEAT_TTL_MS": heartbeat_ttl_ms(config),
        "ATTEMPTS_KEPT": ATTEMPTS_KEPT,
        "LOG_LINES": LOG_LINES,
        "AUDIT_MAXLEN": AUDIT_MAXLEN,
        "MAX_API_KEYS": MAX_API_KEYS,
        "MAX_OPERATIONS": MAX_OPERATIONS,
        "MAX_OPERATING": MAX_OPERATING,
        "OPERATION_TTL_MS": OPERATION_TTL_MS,
        "MAX_TRIALS": len(TRIALS),
        "MINUTE_STATS_TTL_MS": MINUTE_STATS_TTL_MS,
        "TEN_STATS_TTL_MS": TEN_STATS_TTL_MS,
        "HOUR_STATS_TTL_MS": HOUR_STATS_TTL_MS,
        "LOCK_MS": LOCK_MS,
        "TOLD_MS": TOLD_MS,
        "GRACE_MS": GRACE_MS,
    }
    moves = [f"[{str(current)!r}] = {_table(sorted(targets))}" for current, targets in VALID_TRANSITIONS.items()]
    return "\n".join(
        [
            keys.lua(),
            *(f"local {name} = {value}" for name, value in numbers.items()),
            f"local GROUP = '{GROUP}'",
            f"local OTHER_TYPES = '{OTHER_TYPES}'",
            f"local DLQ_ENABLED = {'true' if config.dlq_enabled else 'false'}",
            f"local BUCKETS_MS = {{ {', '.join(map(str, BUCKETS_MS))} }}",
            _lua_set("STATUSES", list(TaskStatus)),
            _lua_set("TERMINAL", sorted(TERMINAL)),
            _lua_set("REQUEUEABLE", sorted(REQUEUEABLE)),
            f"local ALLOWED = {{ {', '.join(moves)} }}",
        ]
    )


def heartbeat_ttl_ms(config: Config) -> int:
    """How long a worker's record outlives its last heartbeat."""
    return round(config.heartbeat_interval_s * 3000)


def _lua_set(name: str, members: Sequence[str]) -> str:
    return f"local {name} = {_table(members)}"


def _table(members: Sequence[str]) -> str:
    return f"{{ {', '.join(f'[{member!r}] = true' for member in map(str, members))} }}"


class _Rendered:
    """The scripts of one prefix and one configuration, with their digests."""

    def __init__(self, config: Config) -> None:
        self.keys = Keys(config.key_prefix)
        self._prelude = prelude(self.keys, config)
        self._ready: dict[str, tuple[str, str]] = {}

    def __getitem__(self, name: str) -> tuple[str, str]:
        """The script's text and its SHA-1."""
        if name not in self._ready:
            text = f"{self._prelude}\n{source(name)}"
            self._ready[name] = (text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())
        return self._ready[name]


def digests(config: Config) -> dict[str, str]:
    """Per verb the SHA-1 under which a server knows its script, as its slow log shows it."""
    rendered = _Rendered(config)
    return {path.stem: rendered[path.stem][1] for path in sorted(_LUA.glob("*.lua"))}


class Scripts:
    """Runs scripts over a blocking client: one round trip, two when the server has lost the script."""

    def __init__(self, client: redis.Redis, config: Config) -> None:
        self._client = client
        self._rendered = _Rendered(config)
        self.keys = self._rendered.keys

    def run(self, name: str, *args: Argument) -> Any:
        """Run one script.

        Raises:
            StoreUnavailable: the server is gone, loading, read-only or out of memory.
        """
        text, digest = self._rendered[name]
        with translating():
            try:
                return self._client.evalsha(digest, 1, self.keys.queues, *args)
            except NoScriptError:
                return self._client.eval(text, 1, self.keys.queues, *args)


class AsyncScripts:
    """The same over an asyncio client."""

    def __init__(self, client: redis.asyncio.Redis, config: Config) -> None:
        self._client = client
        self._rendered = _Rendered(config)
        self.keys = self._rendered.keys

    async def run(self, name: str, *args: Argument) -> Any:
        """Run one script; raises as :meth:`Scripts.run`."""
        text, digest = self._rendered[name]
        with translating():
            try:
                return await self._client.evalsha(digest, 1, self.keys.queues, *args)
            except NoScriptError:
                return await self._client.eval(text, 1, self.keys.queues, *args)

    async def run_behind(self, command: Sequence[Argument], name: str, *args: Argument) -> tuple[Any, Any]:
        """Send one (blocking) command and a script in one go: the answers to both. Raises as :meth:`Scripts.run`.

        The server runs the script as soon as it has answered the command, with no round trip between.
        """
        text, digest = self._rendered[name]
        with translating():
            pipe = self._client.pipeline(transaction=False)
            pipe.execute_command(*command)
            pipe.evalsha(digest, 1, self.keys.queues, *args)
            first, second = await pipe.execute(raise_on_error=False)
            for answer in (first, second):
                if isinstance(answer, NoScriptError):
                    second = await self._client.eval(text, 1, self.keys.queues, *args)
                elif isinstance(answer, Exception):
                    raise answer
        return first, second
