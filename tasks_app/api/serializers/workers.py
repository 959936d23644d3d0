"""Workers, and the audit."""

from __future__ import annotations

from rest_framework import serializers

from tasks_app.api.serializers.base import Shape, time_field


class ToldSerializer(Shape):
    """What a worker was told by an operator; its state follows with its next heartbeat."""

    wish = serializers.ChoiceField(["quiet", "stop"])
    by = serializers.CharField(allow_blank=True)
    at = time_field("", null=False)


class WorkerSerializer(Shape):
    """A worker's last heartbeat."""

    id = serializers.CharField()
    state = serializers.ChoiceField(["ready", "busy", "quiet", "draining", "late", "gone"])
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
    drain_timeout_ms = serializers.IntegerField(
        allow_null=True, help_text="How long it lets what runs finish when it stops; null: it has not said."
    )
    told = ToldSerializer(allow_null=True)


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
