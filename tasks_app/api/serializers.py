"""The shapes of requests and answers for the OpenAPI document.

Nothing here runs when a request is served: what is accepted is decided by ``domain.submission`` alone, what is answered
by ``representation``. Tests validate real answers against the document, so the three cannot drift apart.
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from tasks_app.api.errors import HTTP_STATUS
from tasks_app.api.submitting import MAX_BULK
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.submission import MAX_DELAY_S, MAX_TIMEOUT_MS, QUEUE_PATTERN, TYPE_PATTERN

Shape = serializers.Serializer[Any]

STATUSES = [status.value for status in TaskStatus]
OUTCOMES = ["running", "succeeded", "failed", "timed_out", "cancelled", "lost", "given_back"]


@extend_schema_field({})
class AnyJson(serializers.Field[Any, Any, Any, Any]):
    """Any JSON value."""


@extend_schema_field({"type": "object", "additionalProperties": {}})
class JsonObject(serializers.Field[Any, Any, Any, Any]):
    """Any JSON object."""


def _time(help_text: str, *, null: bool = True) -> serializers.DateTimeField:
    return serializers.DateTimeField(allow_null=null, help_text=help_text)


class ProblemShape(Shape):
    """Every refusal."""

    code = serializers.ChoiceField(sorted(HTTP_STATUS), help_text="What happened, for programs.")
    message = serializers.CharField(help_text="What happened, for people.")
    request_id = serializers.CharField(help_text="Also in the header X-Request-ID and in the server's log.")
    details = JsonObject(required=False, help_text="Facts that go with the code, such as `fields` or `task_id`.")


class ErrorShape(Shape):
    """Why an attempt failed."""

    message = serializers.CharField(allow_blank=True)
    traceback = serializers.CharField(allow_null=True, help_text="Capped; absent (null) in lists.")

    def get_fields(self) -> dict[str, Any]:
        """``class`` is a word of Python, so it cannot be an attribute."""
        return {"class": serializers.CharField(), **super().get_fields()}


class ProgressShape(Shape):
    """How far a running handler says it is."""

    fraction = serializers.FloatField(allow_null=True, help_text="0 to 1.")
    note = serializers.CharField(allow_null=True)


class TaskSummaryShape(Shape):
    """A task as lists show it."""

    id = serializers.RegexField(r"^[0-9a-f]{32}$", help_text="UUIDv7 in hex: sorts by birth.")
    task_type = serializers.CharField()
    queue = serializers.CharField()
    priority = serializers.IntegerField(min_value=0, max_value=9, help_text="9 goes first.")
    status = serializers.ChoiceField(STATUSES)
    attempt = serializers.IntegerField(help_text="The attempt that runs, will run, or ran last; 1 is the first.")
    max_attempts = serializers.IntegerField()
    timeout_ms = serializers.IntegerField()
    created_at = _time("When it was accepted.", null=False)
    enqueued_at = _time("When it last entered its queue.")
    started_at = _time("When its last attempt began.")
    finished_at = _time("When it ended.")
    due_at = _time("When a pending or retrying task is due.")
    expires_at = _time("From when on it does not start any more.")
    worker_id = serializers.CharField(allow_null=True)
    cancel_requested = serializers.BooleanField()
    give_backs = serializers.IntegerField(help_text="How often a stopping worker handed it back unfinished.")
    requeues = serializers.IntegerField(help_text="How often an operator revived it.")
    idempotency_key = serializers.CharField(allow_null=True)
    fingerprint = serializers.CharField(allow_null=True, help_text="Same for tasks that failed alike.")
    error = ErrorShape(allow_null=True)
    progress = ProgressShape(allow_null=True)


class TaskShape(TaskSummaryShape):
    """A whole task. Payload, metadata and result are the exact JSON that was sent and returned."""

    payload = JsonObject()
    metadata = JsonObject(help_text="`previous_attempts` grows with each requeue.")
    result = AnyJson(help_text="null until it has succeeded.")


class SubmittedShape(TaskShape):
    """A whole task, and whether it had been there before."""

    duplicate = serializers.BooleanField()


class AttemptShape(Shape):
    """One run of a task."""

    number = serializers.IntegerField()
    outcome = serializers.ChoiceField(OUTCOMES)
    worker_id = serializers.CharField()
    started_at = _time("", null=False)
    ended_at = _time("")
    error = ErrorShape(allow_null=True)


class LogLineShape(Shape):
    """A line a handler wrote."""

    at = _time("", null=False)
    attempt = serializers.IntegerField()
    message = serializers.CharField()


class TaskDetailShape(TaskShape):
    """A whole task with its history, oldest first."""

    attempts = AttemptShape(many=True)
    log = LogLineShape(many=True)


class UnreadableShape(Shape):
    """A record that does not decode; it can be discarded."""

    id = serializers.CharField()
    unreadable = serializers.CharField(help_text="Why.")


class ResultShape(Shape):
    """How a task ended, or that it has not."""

    id = serializers.CharField()
    status = serializers.ChoiceField(STATUSES)
    finished = serializers.BooleanField()
    error = ErrorShape(allow_null=True)
    result = AnyJson()


@extend_schema_serializer(component_name="Submission")
class SubmissionShape(Shape):
    """A task to run. What is left out comes from the handler's declaration, else from the settings."""

    task_type = serializers.RegexField(f"^{TYPE_PATTERN.pattern}$")
    payload = JsonObject(required=False)
    queue = serializers.RegexField(f"^{QUEUE_PATTERN.pattern}$", required=False)
    priority = serializers.IntegerField(required=False, min_value=0, max_value=9)
    max_attempts = serializers.IntegerField(required=False, min_value=1)
    timeout_ms = serializers.IntegerField(required=False, min_value=1, max_value=MAX_TIMEOUT_MS)
    delay_seconds = serializers.FloatField(
        required=False, min_value=0, max_value=MAX_DELAY_S, help_text="Not together with `run_at`."
    )
    run_at = serializers.DateTimeField(required=False, help_text="With an offset; a past moment means now.")
    idempotency_key = serializers.CharField(
        required=False, max_length=255, help_text="Printable ASCII. The header `Idempotency-Key` wins."
    )
    metadata = JsonObject(required=False, help_text="Up to 4 KB of JSON. `ttl_seconds`: do not start later than that.")


class BulkSubmissionShape(Shape):
    """Tasks to run, each on its own terms."""

    tasks = serializers.ListField(child=SubmissionShape(), min_length=1, max_length=MAX_BULK)


class BulkProblemShape(Shape):
    """Why one task of many was refused."""

    code = serializers.CharField()
    message = serializers.CharField()
    details = JsonObject(required=False)


class BulkItemShape(Shape):
    """What became of one task, as the answer to a single submission would say it."""

    status = serializers.IntegerField(help_text="202, 200 for a duplicate, or an error's.")
    task = TaskSummaryShape(allow_null=True)
    error = BulkProblemShape(allow_null=True)


class BulkAnswerShape(Shape):
    """One item per task sent, in the same order."""

    accepted = serializers.IntegerField()
    duplicates = serializers.IntegerField()
    refused = serializers.IntegerField()
    items = BulkItemShape(many=True)


class PausedShape(Shape):
    """Who paused a queue, and until when."""

    by = serializers.CharField()
    at = _time("", null=False)
    reason = serializers.CharField(allow_blank=True)
    until = _time("null: until somebody resumes it.")


class QueueShape(Shape):
    """A queue now."""

    name = serializers.CharField()
    queued = serializers.IntegerField()
    pending = serializers.IntegerField()
    retrying = serializers.IntegerField()
    running = serializers.IntegerField()
    dead_lettered = serializers.IntegerField()
    oldest_at = _time("When the longest waiting queued task was accepted.")
    paused = PausedShape(allow_null=True)
    bands = serializers.DictField(
        child=serializers.IntegerField(), help_text="Waiting per priority; only filled for a single queue."
    )


class PauseShape(Shape):
    """Why and until when to pause."""

    reason = serializers.CharField(required=False, max_length=200)
    until = serializers.DateTimeField(required=False, help_text="With an offset.")


class PurgedShape(Shape):
    """How far a purge came. Send the request again while something remains."""

    done = serializers.IntegerField()
    remaining = serializers.IntegerField()


class DiscardedShape(Shape):
    """The record is gone."""

    id = serializers.CharField()
    discarded = serializers.BooleanField()


class WorkerShape(Shape):
    """A worker's last heartbeat."""

    id = serializers.CharField()
    state = serializers.ChoiceField(["ready", "busy", "draining", "late", "gone"])
    host = serializers.CharField()
    pid = serializers.IntegerField()
    version = serializers.CharField()
    started_at = _time("", null=False)
    seen_at = _time("", null=False)
    concurrency = serializers.IntegerField()
    occupied = serializers.IntegerField()
    queues = serializers.ListField(child=serializers.CharField(), help_text="Empty: all.")
    processed = serializers.IntegerField()
    failed = serializers.IntegerField()
    running = serializers.ListField(child=serializers.CharField(), help_text="Ids of tasks.")
    note = serializers.CharField(allow_blank=True)


class DeadLetterShape(Shape):
    """A task that ended by its own failures."""

    entry = serializers.CharField()
    task_id = serializers.CharField()
    task_type = serializers.CharField()
    queue = serializers.CharField()
    attempts = serializers.IntegerField()
    error_class = serializers.CharField(allow_blank=True)
    error_message = serializers.CharField(allow_blank=True)
    fingerprint = serializers.CharField(allow_blank=True)
    worker_id = serializers.CharField(allow_blank=True)
    failed_at = _time("", null=False)


class DeadLetterGroupShape(Shape):
    """Dead letters with one fingerprint: same type, error class and message but for its numbers."""

    fingerprint = serializers.CharField()
    task_type = serializers.CharField()
    error_class = serializers.CharField(allow_blank=True)
    error_message = serializers.CharField(allow_blank=True)
    count = serializers.IntegerField()
    first_seen = _time("", null=False)
    last_seen = _time("", null=False)


class AuditShape(Shape):
    """Who did what to what."""

    entry = serializers.CharField()
    at = _time("", null=False)
    actor = serializers.CharField(allow_blank=True)
    action = serializers.CharField()
    target = serializers.CharField(allow_blank=True)
    task_id = serializers.CharField(allow_blank=True)
    source = serializers.CharField(allow_blank=True)  # type: ignore[assignment]  # a word that Field uses as well
    request_id = serializers.CharField(allow_blank=True)
    detail = serializers.CharField(allow_blank=True)
