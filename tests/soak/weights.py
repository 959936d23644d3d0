"""What the server's memory holds, split by what bounds it, so that growth by design is told from growth without end."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import redis

from tests.support.keyspace import documented

RECORD = "dtq:task:<id>"
MINUTE = "dtq:stats:m:<number>"
AUDIT = "dtq:stream:audit"
KEPT = ("dtq:stats:", "dtq:queues", "dtq:types", "dtq:worker", "dtq:lock:")
"""How those rows of docs/redis-keys.md begin whose keys do not come and go with tasks, as all others do."""
CHUNK = 1000


@dataclass(frozen=True)
class Weights:
    """Bytes, and how many ``records`` of tasks there are. ``by_row``: of each row of docs/redis-keys.md.

    ``of_tasks``: everything that goes with tasks. ``minute``: the heaviest of the minutes of statistics.
    ``audit_entry``: the mean. ``kept``: the other keys. ``expired``: how many keys were there past their end.
    ``beyond``: what is ``used`` beside the keys' weight: those, buffers, scripts.
    """

    records: int
    of_tasks: int
    minute: int
    audit_entry: float
    kept: int
    expired: int
    beyond: int
    used: int
    by_row: dict[str, int]


def weigh(client: redis.Redis) -> Weights:
    """Ask for the weight of every key there is: some ten thousand commands, a few milliseconds at a time.

    A key that is past its end goes when it is asked for, so what is done often here is not seen to grow.
    """
    used, held = int(client.info("memory")["used_memory"]), client.dbsize()
    found: defaultdict[str, list[int]] = defaultdict(list)
    names = list(client.scan_iter(count=CHUNK))
    for start in range(0, len(names), CHUNK):
        chunk = names[start : start + CHUNK]
        pipe = client.pipeline(transaction=False)
        for name in chunk:
            pipe.memory_usage(name, samples=0)
        for name, weight in zip(chunk, pipe.execute(), strict=True):
            if weight is not None:  # it is still there
                found[_row(name.decode())].append(weight)
    by_row = {row: sum(weights) for row, weights in found.items()}
    minutes, audit = by_row.get(MINUTE, 0), by_row.get(AUDIT, 0)
    kept = sum(weight for row, weight in by_row.items() if row.startswith(KEPT)) - minutes
    of_tasks = sum(by_row.values()) - kept - minutes - audit
    return Weights(
        records=len(found[RECORD]),
        of_tasks=of_tasks,
        minute=max(found[MINUTE], default=0),
        audit_entry=audit / max(1, client.xlen(AUDIT)),
        kept=kept,
        expired=max(0, held - len(names)),
        beyond=used - sum(by_row.values()),
        used=used,
        by_row=by_row,
    )


def _row(name: str) -> str:
    """The name of the row that documents the key, the key's own where none does."""
    return next((row.name for row in documented() if row.matches(name)), name)
