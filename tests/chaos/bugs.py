"""Bugs that a task queue might have, planted to see that the simulator finds them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from tasks_app.store import scripts
from tasks_app.store.connections import translating
from tasks_app.store.leases import Finish, Leases
from tasks_app.store.presence import Renewal

Planting = Callable[[], AbstractContextManager[Any]]


def _in_script(name: str, pattern: str, replacement: str) -> Planting:
    """A change of one script's text, which must still have what is changed."""

    def plant() -> AbstractContextManager[Any]:
        genuine = scripts.source

        def source(wanted: str) -> str:
            text = genuine(wanted)
            if wanted != name:
                return text
            changed, count = re.subn(pattern, replacement, text)
            assert count, f"{name}.lua has no {pattern}"
            return changed

        return mock.patch("tasks_app.store.scripts.source", source)

    return plant


def _acknowledged_first() -> AbstractContextManager[Any]:
    genuine = Leases.finish

    async def finish(self: Leases, worker_id: str, batch: Sequence[Finish]) -> list[str]:
        with translating():
            await self._client.zrem(self._keys.leases, *(outcome.task_id for outcome in batch))
        return await genuine(self, worker_id, batch)

    return mock.patch.object(Leases, "finish", finish)


BUGS: dict[str, Planting] = {
    "finish does not compare attempt and worker": _in_script(
        "finish", r"or v\[5\] ~= ARGV\[at \+ 2\] or v\[7\] ~= worker", ""
    ),
    "a finished task is let go before its record is written": _acknowledged_first,
    "the scheduler's claims are never returned": lambda: mock.patch(
        "tasks_app.store.schedule.Schedule.return_claims", return_value=0
    ),
    "leases are not renewed": lambda: mock.patch(
        "tasks_app.store.presence.Presence.renew", return_value=Renewal([], [])
    ),
    "renew does not compare attempt and worker": _in_script(
        "renew", r"v\[2\] ~= ARGV\[i \+ 1\] or v\[3\] ~= worker", "false"
    ),
    "a re-adopted task keeps its attempt": _in_script("reclaim", r"task\.attempt = task\.attempt \+ 1", ""),
    "leases are taken before they end": _in_script("reclaim", r"LEASES, '-inf', now\b", "LEASES, '-inf', now + 3000"),
    "submit does not look at idempotency keys": _in_script(
        "submit", r"(local function refusal[^\n]*\n\s+if) key ~= ''", r"\1 false"
    ),
    "a lost group is made again at its end": _in_script("claim", r"GROUP, '0', 'MKSTREAM'", "GROUP, '$', 'MKSTREAM'"),
    "the last attempt is given again": _in_script("reclaim", r"task\.attempt >= task\.max_attempts", "false"),
}
