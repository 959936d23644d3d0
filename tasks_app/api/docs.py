"""The operations of the OpenAPI document, one decorator per view method."""

from __future__ import annotations

from typing import Any

from tasks_app.api import examples, serializers
from tasks_app.api import serializers_operations as operations
from tasks_app.api.base import TASK_ID
from tasks_app.api.openapi import Operation, answer, either, operation, page_of, query
from tasks_app.api.query import FINGERPRINT, MAX_LIMIT
from tasks_app.domain.submission import KEY_PATTERN, QUEUE_PATTERN, TYPE_PATTERN


def _matching(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^{pattern}$"}


PAGE = (
    query("limit", {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}, "Items per page."),
    query("cursor", {"type": "string", "minLength": 1}, "`next` of the page before."),
)
_TEXT = {"type": "string", "minLength": 1, "maxLength": 255}
_MOMENT = {"type": "string", "format": "date-time"}
_ONE_TASK = ("NOT_FOUND", "UNREADABLE_RECORD")

TASKS_LIST = operation(
    "listTasks",
    "tasks",
    "List tasks, newest first",
    "Everything given must match. A record that cannot be read is listed as `{id, unreadable}`.",
    parameters=(
        query("status", {"type": "string", "enum": serializers.STATUSES}, ""),
        query("queue", _matching(QUEUE_PATTERN.pattern), ""),
        query("task_type", _matching(TYPE_PATTERN.pattern), ""),
        query("worker_id", _TEXT, "The worker that runs it or ran it last."),
        query("q", _TEXT, "An id, the start of an id, or an idempotency key."),
        query("created_after", _MOMENT, "ISO 8601 with an offset; write + as %2B."),
        query("created_before", _MOMENT, "ISO 8601 with an offset; write + as %2B."),
        *PAGE,
    ),
    answers={
        200: answer(
            page_of(either("TaskOrUnreadable", serializers.TaskSummarySerializer, serializers.UnreadableSerializer)),
            "A page.",
            examples.listed(examples.SUMMARY, examples.UNREADABLE, following=examples.NEXT),
        )
    },
    refusals=("INVALID_CURSOR",),
)

TASKS_SUBMIT = operation(
    "submitTask",
    "tasks",
    "Submit a task",
    "The task is stored and queued, or scheduled, in one step before the answer is sent. With an idempotency key, a "
    "repeated submission finds the first task: while that one is alive 409, once it has ended 200 with the stored "
    "task, and 422 when the two are not the same. The key is kept for `DTQ_IDEM_TTL_S`.",
    parameters=(
        query(
            "Idempotency-Key",
            {"type": "string", "pattern": f"^{KEY_PATTERN.pattern}$"},
            "Wins over the body's.",
            where="header",
        ),
    ),
    request=(serializers.SubmissionSerializer, examples.SUBMISSION),
    answers={
        202: answer(
            serializers.SubmittedSerializer, "A new task.", examples.TASK | {"duplicate": False}, location=True
        ),
        200: answer(
            serializers.SubmittedSerializer,
            "The key's task has ended.",
            examples.SUCCEEDED | {"duplicate": True},
            location=True,
        ),
    },
    refusals=("IDEMPOTENCY_IN_PROGRESS", "UNREADABLE_RECORD", "IDEMPOTENCY_MISMATCH", "QUEUE_FULL"),
)

TASKS_BULK = operation(
    "submitTasks",
    "tasks",
    "Submit up to 1,000 tasks in one step",
    "Each task is answered as if it had come alone, in the order sent; a bad one does not spoil the others. The whole "
    "body may have 10 MiB.",
    request=(
        serializers.BulkSubmissionSerializer,
        {"tasks": [examples.SUBMISSION, {"task_type": "echo", "priority": 10}]},
    ),
    answers={200: answer(serializers.BulkAnswerSerializer, "One item per task.", examples.BULK)},
)

TASK_SHOW = operation(
    "showTask",
    "tasks",
    "Show a task",
    "With its attempts and log lines.",
    answers={200: answer(serializers.TaskDetailSerializer, "The task.", examples.DETAIL)},
    refusals=_ONE_TASK,
)

TASK_RESULT = operation(
    "taskResult",
    "tasks",
    "Wait for a task's end",
    "Answers as soon as the task has ended, at the latest after `wait` seconds. How many requests may wait at once is "
    "limited; beyond that the answer comes at once, as if `wait` had been 0.",
    parameters=(query("wait", {"type": "number", "minimum": 0, "maximum": 30}, "Seconds."),),
    answers={
        200: answer(serializers.ResultSerializer, "It has ended, one way or another: see `status`.", examples.RESULT),
        202: answer(serializers.ResultSerializer, "It has not ended yet.", examples.NO_RESULT_YET, retry_after=True),
    },
    refusals=_ONE_TASK,
)

TASK_CANCEL = operation(
    "cancelTask",
    "tasks",
    "Cancel a task",
    "A waiting task ends at once. A running one is asked to stop: an async handler is cancelled within a second, "
    "a thread runs to its end and its result is dropped.",
    request=None,
    answers={202: answer(serializers.TaskSerializer, "It is cancelled.", examples.CANCELLED)},
    refusals=(*_ONE_TASK, "CANCEL_REQUESTED", "TASK_FINISHED"),
)


def _requeue(operation_id: str, tag: str) -> Operation:
    return operation(
        operation_id,
        tag,
        "Revive a dead-lettered or failed task",
        "It starts again at attempt 1 with a fresh TTL clock; the old count is appended to "
        "`metadata.previous_attempts`.",
        request=None,
        answers={202: answer(serializers.TaskSerializer, "It is queued again.", examples.REQUEUED)},
        refusals=(*_ONE_TASK, "WRONG_STATUS", "IDEMPOTENCY_CONFLICT"),
    )


TASK_REQUEUE = _requeue("requeueTask", "tasks")
DLQ_REQUEUE = _requeue("requeueDeadLetter", "dead letters")

TASK_RUN_NOW = operation(
    "runTaskNow",
    "tasks",
    "Run a pending or retrying task now",
    "Its due time becomes the present.",
    request=None,
    answers={202: answer(serializers.TaskSerializer, "It is due.", examples.TASK)},
    refusals=(*_ONE_TASK, "WRONG_STATUS"),
)

DLQ_LIST = operation(
    "listDeadLetters",
    "dead letters",
    "List dead letters, newest first",
    "",
    parameters=(
        query("fingerprint", _matching(FINGERPRINT.pattern), "Only those that failed alike."),
        *PAGE,
    ),
    answers={
        200: answer(page_of(operations.DeadLetterSerializer), "A page.", examples.listed(examples.DEAD_LETTER)),
    },
    refusals=("INVALID_CURSOR",),
)

DLQ_GROUPS = operation(
    "listDeadLetterGroups",
    "dead letters",
    "List dead letters by what they have in common",
    "The causes seen last, at most 200.",
    answers={
        200: answer(page_of(operations.DeadLetterGroupSerializer), "All.", examples.listed(examples.DEAD_LETTER_GROUP)),
    },
)

DLQ_DISCARD = operation(
    "discardDeadLetter",
    "dead letters",
    "Discard a dead-lettered, failed or unreadable task",
    "The record goes, with all that belongs to it.",
    request=None,
    answers={200: answer(operations.DiscardedSerializer, "It is gone.", examples.DISCARDED)},
    refusals=("NOT_FOUND", "WRONG_STATUS"),
)

DLQ_PURGE = operation(
    "purgeDeadLetters",
    "dead letters",
    "Discard all dead letters",
    "Works in small steps for about two seconds. While `remaining` is not 0, send it again.",
    request=None,
    answers={200: answer(operations.PurgedSerializer, "How far it came.", examples.PURGED)},
)

QUEUES_LIST = operation(
    "listQueues",
    "queues",
    "List queues",
    "Every queue that was ever used.",
    answers={200: answer(page_of(operations.QueueSerializer), "All.", examples.listed(examples.QUEUE))},
)

QUEUE_SHOW = operation(
    "showQueue",
    "queues",
    "Show a queue",
    "With its waiting tasks per priority.",
    answers={200: answer(operations.QueueSerializer, "The queue.", examples.ONE_QUEUE)},
    refusals=("NOT_FOUND",),
)

QUEUE_PAUSE = operation(
    "pauseQueue",
    "queues",
    "Pause a queue",
    "Once this has answered, no task of the queue starts; running ones go on. Submissions are still accepted.",
    request=(operations.PauseSerializer, examples.PAUSE),
    answers={200: answer(operations.QueueSerializer, "It is paused.", examples.PAUSED_QUEUE)},
    refusals=("NOT_FOUND",),
)

QUEUE_RESUME = operation(
    "resumeQueue",
    "queues",
    "Resume a queue",
    "Does nothing to one that is not paused.",
    request=None,
    answers={200: answer(operations.QueueSerializer, "It runs.", examples.ONE_QUEUE)},
    refusals=("NOT_FOUND",),
)

QUEUE_PURGE = operation(
    "purgeQueue",
    "queues",
    "Cancel a queue's waiting and scheduled tasks",
    "Works in small steps for about two seconds. While `remaining` is not 0, send it again.",
    request=None,
    answers={200: answer(operations.PurgedSerializer, "How far it came.", examples.PURGED)},
    refusals=("NOT_FOUND",),
)

WORKERS_LIST = operation(
    "listWorkers",
    "workers",
    "List workers",
    "Every worker that was heard of lately.",
    answers={200: answer(page_of(operations.WorkerSerializer), "All.", examples.listed(examples.WORKER))},
)

WORKER_SHOW = operation(
    "showWorker",
    "workers",
    "Show a worker",
    "",
    answers={200: answer(operations.WorkerSerializer, "The worker.", examples.WORKER)},
    refusals=("NOT_FOUND",),
)

AUDIT_LIST = operation(
    "listAudit",
    "audit",
    "List what was done, newest first",
    "",
    parameters=(
        query("task_id", _matching(TASK_ID.pattern), "Only what was done to this task."),
        *PAGE,
    ),
    answers={200: answer(page_of(operations.AuditSerializer), "A page.", examples.listed(examples.AUDIT))},
    refusals=("INVALID_CURSOR",),
)
