"""Dead letters."""

from __future__ import annotations

from rest_framework import serializers

from tasks_app.api.serializers.base import Shape, time_field


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
    hourly = serializers.ListField(
        child=serializers.IntegerField(min_value=0),
        min_length=24,
        max_length=24,
        help_text="How many were added in each hour of a day, the current one last. What failed again after a requeue "
        "counts again.",
    )
    current_hour = time_field("When the current hour began.", null=False)


class DiscardedSerializer(Shape):
    """The record is gone."""

    id = serializers.CharField()
    discarded = serializers.BooleanField()


class PurgedSerializer(Shape):
    """How far a purge came. Send the request again while something remains."""

    done = serializers.IntegerField()
    remaining = serializers.IntegerField()
