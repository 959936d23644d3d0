"""The console over a million tasks."""

from __future__ import annotations

import http.client
import json
import statistics
import time

from tests.benchmarks.figures import Figures
from tests.benchmarks.stage import Stage

TASKS = 1_000_000
FINISHED = 100_000
QUEUES = 10
TYPES = ("noop", "echo", "report", "primes")
LOOKS = 11


def console(stage: Stage) -> Figures:
    """A million tasks in ten queues, a tenth of them finished: time to the first byte of each list page and filter.

    One web process, one browser's worth of requests, one after the other on a warm connection. Per page the median
    of ten; the slowest single one of all is ``worst_ms``. ``whole_tasks_ms`` is the plain list to its last byte.
    """
    with stage.workers(1, 200):
        stage.submit_all(stage.submission(queue=f"q{n % QUEUES}") for n in range(FINISHED))
        stage.wait_for(lambda: stage.succeeded() == FINISHED)
    ones = [stage.submission(queue=f"q{q}", task_type=t) for q in range(QUEUES) for t in TYPES]
    stage.submit_all(ones[n % len(ones)] for n in range(TASKS - FINISHED))
    some = stage.commands.submit(ones[0]).task.id
    with stage.web(1) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        second = json.loads(_get(connection, "/api/v1/tasks?limit=25")[1])["next"]
        pages = {
            "overview": "/",
            "tasks": "/tasks/",
            "tasks_100": "/tasks/?limit=100",
            "tasks_next": f"/tasks/?cursor={second}",
            "tasks_status": "/tasks/?status=succeeded",
            "tasks_queue": "/tasks/?queue=q3",
            "tasks_type": "/tasks/?type=echo",
            "tasks_queue_type": "/tasks/?queue=q3&type=primes",
            "tasks_status_queue": "/tasks/?status=queued&queue=q3",
            "tasks_since": "/tasks/?since=15m",
            "tasks_worker": "/tasks/?worker=nobody",
            "tasks_id_start": f"/tasks/?q={some[:10]}",
            "tasks_nothing_found": "/tasks/?status=succeeded&queue=q3&type=echo",
            "task": f"/tasks/{some}/",
            "queues": "/queues/",
            "queue": "/queues/q3/",
            "dlq": "/dlq/",
            "workers": "/workers/",
            "api_tasks": "/api/v1/tasks?limit=100",
            "api_tasks_queue": "/api/v1/tasks?queue=q3&limit=100",
        }
        figures: Figures = {}
        slowest, whole = 0.0, []
        for name, path in pages.items():
            first_bytes = []
            for look in range(LOOKS):
                first_ms, _, whole_ms = _get(connection, path)
                if look:  # the first one compiles the page's templates
                    first_bytes.append(first_ms)
                    whole += [whole_ms] if name == "tasks" else []
            figures[f"{name}_ms"] = statistics.median(first_bytes)
            slowest = max(slowest, *first_bytes)
        connection.close()
    return {**figures, "whole_tasks_ms": statistics.median(whole), "worst_ms": slowest}


def _get(connection: http.client.HTTPConnection, path: str) -> tuple[float, bytes, float]:
    """Milliseconds to the first byte, the body, milliseconds to the last."""
    begun = time.perf_counter()
    connection.request("GET", path)
    answer = connection.getresponse()
    first = time.perf_counter()
    body = answer.read()
    last = time.perf_counter()
    if answer.status != 200:
        raise RuntimeError(f"{path} answered {answer.status}")
    return (first - begun) * 1000, body, (last - begun) * 1000
