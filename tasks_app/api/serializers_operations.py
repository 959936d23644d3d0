"""More shapes for the OpenAPI document: queues, dead letters, workers and the audit."""

from __future__ import annotations

from rest_framework import serializers

from tasks_app.api.serializers import Shape, time_field


class PausedSerializer(Shape):
    """Who paused a queue, and until when."""

    by = serializers.CharField()
    at = time_field("", null=False)
    reason = serializers.CharField(allow_blank=True)
    until = time_field("null: until somebody resumes it.")


class QueueSerializer(Shape):
    """A queue now."""

    name = serializers.CharField()
    queued = serializers.IntegerField()
    pending = serializers.IntegerField()
    retrying = serializers.IntegerField()
    running = serializers.IntegerField()
    dead_lettered = serializers.IntegerField()
    oldest_at = time_field("When the longest waiting queued task was accepted.")
    paused = PausedSerializer(allow_null=True)
    bands = serializers.DictField(
        child=serializers.IntegerField(), help_text="Waiting per priority; only filled for a single queue."
    )


class PauseSerializer(Shape):
    """Why and until when to pause."""

    reason = serializers.CharField(required=False, allow_null=True, allow_blank=True, max_length=200)
    until = serializers.DateTimeField(required=False, allow_null=True, help_text="With an offset.")


class PurgedSerializer(Shape):
    """How far a purge came. Send the request again while something remains."""

    done = serializers.IntegerField()
    remaining = serializers.IntegerField()


class DiscardedSerializer(Shape):
    """The record is gone."""

    id = serializers.CharField()
    discarded = serializers.BooleanField()


class WorkerSerializer(Shape):
    """A worker's last heartbeat."""

    id = serializers.CharField()
    state = serializers.ChoiceField(["ready", "busy", "draining", "late", "gone"])
    host = serializers.CharField()
    pid = serializers.IntegerField()
    version = serializers.CharField()
    started_at = time_field("", null=False)
    seen_at = time_field("", null=False)
    concurrency = serializers.IntegerField()
    occupied = serializers.IntegerField()
    queues = serializers.ListField(child=serializers.CharField(), help_text="Empty: all.")
    processed = serializers.IntegerField()
    failed = serializers.IntegerField()
    running = serializers.ListField(child=serializers.CharField(), help_text="Ids of tasks.")
    note = serializers.CharField(allow_blank=True)


class DeadLetterSerializer(Shape):
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
    failed_at = time_field("", null=False)


class DeadLetterGroupSerializer(Shape):
    """Dead letters with one fingerprint: same type, error class and message but for its numbers."""

    fingerprint = serializers.CharField()
    task_type = serializers.CharField()
    error_class = serializers.CharField(allow_blank=True)
    error_message = serializers.CharField(allow_blank=True)
    count = serializers.IntegerField()
    first_seen = time_field("", null=False)
    last_seen = time_field("", null=False)


class AuditSerializer(Shape):
    """Who did what to what."""

    entry = serializers.CharField()
    at = time_field("", null=False)
    actor = serializers.CharField(allow_blank=True)
    action = serializers.CharField()
    target = serializers.CharField(allow_blank=True)
    task_id = serializers.CharField(allow_blank=True)
    source = serializers.CharField(allow_blank=True)  # type: ignore[assignment]  # a word that Field uses as well
    request_id = serializers.CharField(allow_blank=True)
    detail = serializers.CharField(allow_blank=True)
