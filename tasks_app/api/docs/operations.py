"""Operations: bulk actions by filter."""

from __future__ import annotations

from tasks_app.api import examples
from tasks_app.api.openapi import PAGE, answer, endpoint, page_of
from tasks_app.api.serializers.operations import AskedOperationSerializer, OperationSerializer

_TAG = "operations"

BEGIN = endpoint(
    "beginOperation",
    _TAG,
    "Requeue, cancel or discard all tasks that match a filter",
    "Answers at once; the scheduler then works it off in small steps, oldest task first. It is for tasks born before "
    "the moment of asking. The same operation twice at once is refused.",
    request=(AskedOperationSerializer, examples.OPERATION_ASKED),
    answers={202: answer(OperationSerializer, "It is recorded.", examples.OPERATION, location=True)},
    refusals=("OPERATION_RUNNING", "TOO_MANY_OPERATIONS"),
)

LIST = endpoint(
    "listOperations",
    _TAG,
    "List operations, newest first",
    "Those of the last seven days, at most 200.",
    parameters=PAGE,
    answers={200: answer(page_of(OperationSerializer), "A page.", examples.listed(examples.OPERATION))},
    refusals=("INVALID_CURSOR",),
)

SHOW = endpoint(
    "showOperation",
    _TAG,
    "Show an operation",
    "How far it is, and what became of the tasks.",
    answers={200: answer(OperationSerializer, "The operation.", examples.OPERATION)},
    refusals=("NOT_FOUND", "UNREADABLE_RECORD"),
)

ABORT = endpoint(
    "abortOperation",
    _TAG,
    "Abort an operation",
    "What it has done stays done.",
    request=None,
    answers={200: answer(OperationSerializer, "It has ended.", examples.ABORTED)},
    refusals=("NOT_FOUND", "OPERATION_ENDED", "UNREADABLE_RECORD"),
)
