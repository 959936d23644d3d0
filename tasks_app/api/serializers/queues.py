"""Queues."""

from __future__ import annotations

from rest_framework import serializers

from tasks_app.api.serializers.base import Shape, time_field


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
    oldest_at = time_field("When the longest waiting queued task entered its stream.")
    paused = PausedSerializer(allow_null=True)
    bands = serializers.DictField(
        child=serializers.IntegerField(), help_text="Waiting per priority; only filled for a single queue."
    )


class PauseSerializer(Shape):
    """Why and until when to pause."""

    reason = serializers.CharField(required=False, allow_null=True, allow_blank=True, max_length=200)
    until = serializers.DateTimeField(required=False, allow_null=True, help_text="With an offset.")
