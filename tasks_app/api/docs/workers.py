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
    answers={200: answer(page_of(shapes.WorkerSerializer), "All.", examples.listed(examples.WORKER))},
)

WORKER_SHOW = endpoint(
    "showWorker",
    "workers",
    "Show a worker",
    "",
    answers={200: answer(shapes.WorkerSerializer, "The worker.", examples.WORKER)},
    refusals=("NOT_FOUND",),
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
