"""Tasks, and what submits them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from tasks_app.api.serializers.base import JsonObject, Shape, time_field
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.submission import KEY_PATTERN, MAX_DELAY_S, MAX_TIMEOUT_MS, QUEUE_PATTERN, TYPE_PATTERN
from tasks_app.store.commands import MAX_BULK
from tasks_app.store.scripts import ATTEMPTS_KEPT, LOG_LINES

STATUSES = [status.value for status in TaskStatus]

OUTCOMES = ["running", "succeeded", "failed", "timed_out", "cancelled", "lost", "given_back"]


@extend_schema_field({})
class AnyJson(serializers.Field[Any, Any, Any, Any]):
    """Any JSON value."""


class ErrorSerializer(Shape):
    """Why an attempt failed."""

    message = serializers.CharField(allow_blank=True)
    traceback = serializers.CharField(allow_null=True, help_text="Capped; absent (null) in lists.")

    def get_fields(self) -> dict[str, Any]:
        """``class`` is a word of Python, so it cannot be an attribute."""
        return {"class": serializers.CharField(), **super().get_fields()}


class ProgressSerializer(Shape):
    """How far a running handler says it is."""

    fraction = serializers.FloatField(allow_null=True, help_text="0 to 1.")
    note = serializers.CharField(allow_null=True)


class TaskSummarySerializer(Shape):
    """A task as lists show it."""

    id = serializers.RegexField(r"^[0-9a-f]{32}$", help_text="UUIDv7 in hex: sorts by birth.")
    task_type = serializers.CharField()
    queue = serializers.CharField()
    priority = serializers.IntegerField(min_value=0, max_value=9, help_text="9 goes first.")
    status = serializers.ChoiceField(STATUSES)
    attempt = serializers.IntegerField(help_text="The attempt that runs, will run, or ran last; 1 is the first.")
    max_attempts = serializers.IntegerField()
    timeout_ms = serializers.IntegerField()
    created_at = time_field("When it was accepted.", null=False)
    enqueued_at = time_field("When it last entered its queue.")
    started_at = time_field("When its last attempt began.")
    finished_at = time_field("When it ended.")
    due_at = time_field("When a pending or retrying task is due.")
    expires_at = time_field("From when on it does not start any more.")
    worker_id = serializers.CharField(allow_null=True)
    cancel_requested = serializers.BooleanField()
    give_backs = serializers.IntegerField(help_text="How often a stopping worker handed it back unfinished.")
    requeues = serializers.IntegerField(help_text="How often an operator revived it.")
    idempotency_key = serializers.CharField(allow_null=True)
    fingerprint = serializers.CharField(allow_null=True, help_text="Same for tasks that failed alike.")
    error = ErrorSerializer(allow_null=True)
    progress = ProgressSerializer(allow_null=True)


class TaskSerializer(TaskSummarySerializer):
    """A whole task. Payload, metadata and result are the exact JSON that was sent and returned."""

    payload = JsonObject()
    metadata = JsonObject(help_text="`previous_attempts` grows with each requeue.")
    result = AnyJson(help_text="null until it has succeeded.")


class SubmittedSerializer(TaskSerializer):
    """A whole task, and whether it had been there before."""

    duplicate = serializers.BooleanField()


class AttemptSerializer(Shape):
    """One run of a task."""

    number = serializers.IntegerField()
    outcome = serializers.ChoiceField(OUTCOMES)
    worker_id = serializers.CharField()
    queued_at = time_field("When it began to wait for a worker; before the run before, if that worker left it behind.")
    started_at = time_field("", null=False)
    ended_at = time_field("")
    error = ErrorSerializer(allow_null=True)


class LogLineSerializer(Shape):
    """A line a handler wrote."""

    at = time_field("", null=False)
    attempt = serializers.IntegerField()
    message = serializers.CharField()


class TaskDetailSerializer(TaskSerializer):
    """A whole task with its history, oldest first."""

    attempts = AttemptSerializer(
        many=True, help_text=f"The last {ATTEMPTS_KEPT} that did not succeed, and the one that runs or ended it."
    )
    log = LogLineSerializer(many=True, help_text=f"The last {LOG_LINES} lines.")


class UnreadableSerializer(Shape):
    """A record that does not decode; it can be discarded."""

    id = serializers.CharField()
    unreadable = serializers.CharField(help_text="Why.")


class ResultSerializer(Shape):
    """How a task ended, or that it has not."""

    id = serializers.CharField()
    status = serializers.ChoiceField(STATUSES)
    finished = serializers.BooleanField()
    error = ErrorSerializer(allow_null=True)
    result = AnyJson()


class SubmissionSerializer(Shape):
    """A task to run. What is left out comes from the handler's declaration, else from the settings."""

    task_type = serializers.RegexField(f"^{TYPE_PATTERN.pattern}$")
    payload = JsonObject(required=False, allow_null=True)
    queue = serializers.RegexField(f"^{QUEUE_PATTERN.pattern}$", required=False, allow_null=True)
    priority = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=9)
    max_attempts = serializers.IntegerField(required=False, allow_null=True, min_value=1)
    timeout_ms = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=MAX_TIMEOUT_MS)
    delay_seconds = serializers.FloatField(
        required=False, allow_null=True, min_value=0, max_value=MAX_DELAY_S, help_text="Not together with `run_at`."
    )
    run_at = serializers.DateTimeField(
        required=False, allow_null=True, help_text="With an offset; a past moment means now."
    )
    idempotency_key = serializers.RegexField(
        f"^{KEY_PATTERN.pattern}$",
        required=False,
        allow_null=True,
        help_text="Printable ASCII. The header `Idempotency-Key` wins.",
    )
    metadata = JsonObject(
        required=False, allow_null=True, help_text="Up to 4 KB of JSON. `ttl_seconds`: do not start later than that."
    )


class BulkSubmissionSerializer(Shape):
    """Tasks to run, each on its own terms."""

    tasks = serializers.ListField(child=SubmissionSerializer(), min_length=1, max_length=MAX_BULK)


class BulkProblemSerializer(Shape):
    """Why one task of many was refused."""

    code = serializers.CharField()
    message = serializers.CharField()
    details = JsonObject(required=False)


class BulkItemSerializer(Shape):
    """What became of one task, as the answer to a single submission would say it."""

    status = serializers.IntegerField(help_text="202, 200 for a duplicate, or an error's.")
    task = TaskSummarySerializer(allow_null=True)
    error = BulkProblemSerializer(allow_null=True)


class BulkAnswerSerializer(Shape):
    """One item per task sent, in the same order."""

    accepted = serializers.IntegerField()
    duplicates = serializers.IntegerField()
    refused = serializers.IntegerField()
    items = BulkItemSerializer(many=True)
