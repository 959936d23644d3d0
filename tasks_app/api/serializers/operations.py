"""Operations: bulk actions by filter."""

from __future__ import annotations

from rest_framework import serializers

from tasks_app.api.query import FINGERPRINT
from tasks_app.api.serializers.base import Shape, time_field
from tasks_app.api.serializers.tasks import STATUSES
from tasks_app.domain.operation import BULK_ACTIONS, TOO_MANY_FAIL, TRIALS, OperationState
from tasks_app.domain.submission import QUEUE_PATTERN, TYPE_PATTERN


class SelectionSerializer(Shape):
    """Which tasks; everything given must match. Without a status: all that the action is for."""

    status = serializers.ChoiceField(STATUSES, required=False)
    queue = serializers.RegexField(f"^{QUEUE_PATTERN.pattern}$", required=False)
    task_type = serializers.RegexField(f"^{TYPE_PATTERN.pattern}$", required=False)
    worker_id = serializers.CharField(required=False, max_length=255)
    fingerprint = serializers.RegexField(
        f"^{FINGERPRINT.pattern}$", required=False, help_text="Dead letters that failed alike."
    )
    created_after = serializers.DateTimeField(required=False, help_text="With an offset.")
    created_before = serializers.DateTimeField(
        required=False, help_text="With an offset. The moment of asking, when left out or later."
    )


class AskedOperationSerializer(Shape):
    """What to do, and with which tasks; an empty filter means all that the action is for."""

    action = serializers.ChoiceField(list(BULK_ACTIONS))
    filter = SelectionSerializer()
    careful = serializers.BooleanField(
        required=False,
        default=False,
        help_text=f"Requeue {', '.join(map(str, TRIALS))} and wait for each to end, then the rest; stop when more than "
        f"{TOO_MANY_FAIL:.0%} of a trial fail again.",
    )


class OperationSerializer(Shape):
    """A bulk action as it stands."""

    id = serializers.CharField()
    action = serializers.ChoiceField(list(BULK_ACTIONS))
    filter = SelectionSerializer()
    state = serializers.ChoiceField(list(OperationState))
    total = serializers.IntegerField(help_text="How many tasks it was going to look at when it was asked for.")
    exact = serializers.BooleanField(help_text="It is for each of them. Else only for those among them that match.")
    looked = serializers.IntegerField(help_text="How many it has looked at.")
    done = serializers.IntegerField(help_text="How many it has changed.")
    told = serializers.IntegerField(help_text="How many were running and were told to stop.")
    skipped = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="How many it left alone, by the status they were found in or another reason.",
    )
    careful = serializers.BooleanField()
    trying = serializers.IntegerField(help_text="How many tasks its last trial requeued; 0: it makes none now.")
    failed = serializers.IntegerField(help_text="How many of them had failed again when it stopped.")
    actor = serializers.CharField(allow_blank=True)
    created_at = time_field("", null=False)
    ended_at = time_field("null: it runs.")
    ended_by = serializers.CharField(allow_null=True, help_text="Who aborted it, or who had asked for it.")
    waits_for_scheduler = serializers.BooleanField(help_text="Nobody leads at the moment, so it does not go on.")
