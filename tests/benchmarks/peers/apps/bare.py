"""No queue at all: the fewest commands with which Redis Streams deliver at least once, in batches of a hundred.

Submit is ``XADD``; a worker's turn is one pipeline of ``XACK`` and ``XDEL`` for the batch before and ``XREADGROUP`` for
the next. No record, no status, no lease, no retry, no result. ``python -m ...apps.bare`` runs the worker.
"""

from __future__ import annotations

import os

import redis

from tests.benchmarks.peers import tally

STREAM, GROUP = "bench", "workers"
BATCH = 100
client = redis.Redis.from_url(os.environ["BENCH_URL"], protocol=2)


def submit() -> None:
    """Send one task."""
    client.xadd(STREAM, {"task": "noop"})


def submit_many(count: int) -> None:
    """Send many in one pipeline."""
    pipe = client.pipeline(transaction=False)
    for _ in range(count):
        pipe.xadd(STREAM, {"task": "noop"})
    pipe.execute()


def _work() -> None:
    try:
        client.xgroup_create(STREAM, GROUP, "0", mkstream=True)
    except redis.ResponseError as error:
        if not str(error).startswith("BUSYGROUP"):
            raise
    done: list[bytes] = []
    while True:
        pipe = client.pipeline(transaction=False)
        if done:
            pipe.xack(STREAM, GROUP, *done)
            pipe.xdel(STREAM, *done)
        pipe.xreadgroup(GROUP, str(os.getpid()), {STREAM: ">"}, count=BATCH, block=1000)
        reply = pipe.execute()[-1]
        done = []
        for entry, _ in reply[0][1] if reply else []:
            tally.ran()
            done.append(entry)


if __name__ == "__main__":
    _work()
