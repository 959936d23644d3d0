"""Workers, and the audit."""

from __future__ import annotations

from tasks_app.api import examples
from tasks_app.api.base import TASK_ID
from tasks_app.api.openapi import PAGE, answer, endpoint, matching, page_of, query
from tasks_app.api.serializers import workers as shapes

WORKERS_LIST = endpoint(
    "listWorkers",
    "workers",
    "List workers",
    "Every worker that was heard of lately.",
    parameters=PAGE,
    answers={200: answer(page_of(shapes.WorkerSerializer), "All, or a page.", examples.listed(examples.WORKER))},
    refusals=("INVALID_CURSOR",),
)

WORKER_SHOW = endpoint(
    "showWorker",
    "workers",
    "Show a worker",
    "",
    answers={200: answer(shapes.WorkerSerializer, "The worker.", examples.WORKER)},
    refusals=("NOT_FOUND",),
)

_SOON = " It hears of it within a second, at the latest with its next heartbeat, which the answer does not wait for."

WORKER_QUIET = endpoint(
    "quietWorker",
    "workers",
    "Make a worker quiet",
    "It takes no more tasks, finishes what runs, and stays until it is resumed or stopped." + _SOON,
    request=None,
    answers={202: answer(shapes.WorkerSerializer, "It is told.", examples.QUIET_WORKER)},
    refusals=("NOT_FOUND", "WORKER_LEAVING"),
)

WORKER_RESUME = endpoint(
    "resumeWorker",
    "workers",
    "Let a quiet worker take tasks again",
    "Does nothing to one that is not quiet." + _SOON,
    request=None,
    answers={202: answer(shapes.WorkerSerializer, "It is told.", examples.WORKER)},
    refusals=("NOT_FOUND", "WORKER_LEAVING"),
)

WORKER_STOP = endpoint(
    "stopWorker",
    "workers",
    "Stop a worker",
    "As SIGTERM does: it finishes what runs as long as it may take to drain, gives the rest back, and exits with 0. "
    "This cannot be taken back. Whatever supervises the process decides whether another one starts." + _SOON,
    request=None,
    answers={202: answer(shapes.WorkerSerializer, "It is told.", examples.STOPPED_WORKER)},
    refusals=("NOT_FOUND", "WORKER_LEAVING"),
)

AUDIT_LIST = endpoint(
    "listAudit",
    "audit",
    "List what was done, newest first",
    "",
    parameters=(
        query("task_id", matching(TASK_ID.pattern), "Only what was done to this task."),
        *PAGE,
    ),
    answers={200: answer(page_of(shapes.AuditSerializer), "A page.", examples.listed(examples.AUDIT))},
    refusals=("INVALID_CURSOR",),
)
