"""No queue either, but a record per task: what any queue writes whose tasks can be looked up, pipelined by the hundred.

Submit is ``HSET`` and ``XADD``; a claimed task costs one ``HSET`` (running), a finished one ``HSET`` (result) and
``EXPIRE``; ``XREADGROUP``, ``XACK`` and ``XDEL`` go once per batch. Two round trips a batch, and nothing is checked.
``python -m ...apps.bare_records`` runs the worker.
"""

from __future__ import annotations

import os
import uuid

import redis

from tests.benchmarks.peers import tally

STREAM, GROUP = "bench", "workers"
BATCH = 100
KEPT_S = 3600
client = redis.Redis.from_url(os.environ["BENCH_URL"], protocol=2)


def submit() -> None:
    """Send one task."""
    submit_many(1)


def submit_many(count: int) -> None:
    """Send many in one pipeline."""
    pipe = client.pipeline(transaction=False)
    for _ in range(count):
        task_id = uuid.uuid4().hex
        pipe.hset(f"task:{task_id}", mapping={"status": "queued", "type": "noop", "payload": "{}"})
        pipe.xadd(STREAM, {"task": task_id})
    pipe.execute()


def _work() -> None:
    try:
        client.xgroup_create(STREAM, GROUP, "0", mkstream=True)
    except redis.ResponseError as error:
        if not str(error).startswith("BUSYGROUP"):
            raise
    me = str(os.getpid())
    finish = client.pipeline(transaction=False)
    while True:
        finish.xreadgroup(GROUP, me, {STREAM: ">"}, count=BATCH, block=1000)
        reply = finish.execute()[-1]
        batch = [(entry, f"task:{fields[b'task'].decode()}") for entry, fields in (reply[0][1] if reply else [])]
        finish = client.pipeline(transaction=False)
        if not batch:
            continue
        claim = client.pipeline(transaction=False)
        for _, key in batch:
            claim.hset(key, mapping={"status": "running", "worker": me})
        claim.execute()
        for _, key in batch:
            tally.ran()
            finish.hset(key, mapping={"status": "succeeded", "result": "null"})
            finish.expire(key, KEPT_S)
        finish.xack(STREAM, GROUP, *(entry for entry, _ in batch))
        finish.xdel(STREAM, *(entry for entry, _ in batch))


if __name__ == "__main__":
    _work()
