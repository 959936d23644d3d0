"""Tasks."""

from __future__ import annotations

from tasks_app.api import examples
from tasks_app.api.openapi import PAGE, Description, answer, either, endpoint, matching, page_of, query
from tasks_app.api.serializers import tasks as shapes
from tasks_app.domain.submission import KEY_PATTERN, QUEUE_PATTERN, TYPE_PATTERN

_TEXT = {"type": "string", "minLength": 1, "maxLength": 255}
_MOMENT = {"type": "string", "format": "date-time"}
_ONE_TASK = ("NOT_FOUND", "UNREADABLE_RECORD")

TASKS_LIST = endpoint(
    "listTasks",
    "tasks",
    "List tasks, newest first",
    "Everything given must match. A record that cannot be read is listed as `{id, unreadable}`.",
    parameters=(
        query("status", {"type": "string", "enum": shapes.STATUSES}, ""),
        query("queue", matching(QUEUE_PATTERN.pattern), ""),
        query("task_type", matching(TYPE_PATTERN.pattern), ""),
        query("worker_id", _TEXT, "The worker that runs it or ran it last."),
        query("q", _TEXT, "An id, the start of an id, or an idempotency key."),
        query("created_after", _MOMENT, "ISO 8601 with an offset; write + as %2B."),
        query("created_before", _MOMENT, "ISO 8601 with an offset; write + as %2B."),
        *PAGE,
    ),
    answers={
        200: answer(
            page_of(either("TaskOrUnreadable", shapes.TaskSummarySerializer, shapes.UnreadableSerializer)),
            "A page.",
            examples.listed(examples.SUMMARY, examples.UNREADABLE, following=examples.NEXT),
        )
    },
    refusals=("INVALID_CURSOR",),
)

TASKS_SUBMIT = endpoint(
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
    request=(shapes.SubmissionSerializer, examples.SUBMISSION),
    answers={
        202: answer(shapes.SubmittedSerializer, "A new task.", examples.TASK | {"duplicate": False}, location=True),
        200: answer(
            shapes.SubmittedSerializer,
            "The key's task has ended.",
            examples.SUCCEEDED | {"duplicate": True},
            location=True,
        ),
    },
    refusals=("IDEMPOTENCY_IN_PROGRESS", "UNREADABLE_RECORD", "IDEMPOTENCY_MISMATCH", "QUEUE_FULL"),
)

TASKS_BULK = endpoint(
    "submitTasks",
    "tasks",
    "Submit up to 1,000 tasks in one step",
    "Each task is answered as if it had come alone, in the order sent; a bad one does not spoil the others. The whole "
    "body may have 10 MiB.",
    request=(
        shapes.BulkSubmissionSerializer,
        {"tasks": [examples.SUBMISSION, {"task_type": "echo", "priority": 10}]},
    ),
    answers={200: answer(shapes.BulkAnswerSerializer, "One item per task.", examples.BULK)},
)

TASK_SHOW = endpoint(
    "showTask",
    "tasks",
    "Show a task",
    "With its attempts and log lines.",
    answers={200: answer(shapes.TaskDetailSerializer, "The task.", examples.DETAIL)},
    refusals=_ONE_TASK,
)

TASK_RESULT = endpoint(
    "taskResult",
    "tasks",
    "Wait for a task's end",
    "Answers as soon as the task has ended, at the latest after `wait` seconds. How many requests may wait at once is "
    "limited; beyond that the answer comes at once, as if `wait` had been 0.",
    parameters=(query("wait", {"type": "number", "minimum": 0, "maximum": 30}, "Seconds."),),
    answers={
        200: answer(shapes.ResultSerializer, "It has ended, one way or another: see `status`.", examples.RESULT),
        202: answer(shapes.ResultSerializer, "It has not ended yet.", examples.NO_RESULT_YET, retry_after=True),
    },
    refusals=_ONE_TASK,
)

TASK_CANCEL = endpoint(
    "cancelTask",
    "tasks",
    "Cancel a task",
    "A waiting task ends at once. A running one is asked to stop: an async handler is cancelled within a second, "
    "a thread runs to its end and its result is dropped.",
    request=None,
    answers={202: answer(shapes.TaskSerializer, "It is cancelled.", examples.CANCELLED)},
    refusals=(*_ONE_TASK, "CANCEL_REQUESTED", "TASK_FINISHED"),
)


def requeue_of(name: str, tag: str) -> Description:
    """Reviving a task, as both paths to it describe it."""
    return endpoint(
        name,
        tag,
        "Revive a dead-lettered or failed task",
        "It starts again at attempt 1 with a fresh TTL clock; the old count is appended to "
        "`metadata.previous_attempts`.",
        request=None,
        answers={202: answer(shapes.TaskSerializer, "It is queued again.", examples.REQUEUED)},
        refusals=(*_ONE_TASK, "WRONG_STATUS", "IDEMPOTENCY_CONFLICT"),
    )


TASK_REQUEUE = requeue_of("requeueTask", "tasks")

TASK_RUN_NOW = endpoint(
    "runTaskNow",
    "tasks",
    "Run a pending or retrying task now",
    "Its due time becomes the present.",
    request=None,
    answers={202: answer(shapes.TaskSerializer, "It is due.", examples.TASK)},
    refusals=(*_ONE_TASK, "WRONG_STATUS"),
)
