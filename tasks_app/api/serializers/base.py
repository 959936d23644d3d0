"""What the shapes have in common."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from tasks_app.api.errors import HTTP_STATUS

Shape = serializers.Serializer[Any]


@extend_schema_field({"type": "object", "additionalProperties": {}})
class JsonObject(serializers.Field[Any, Any, Any, Any]):
    """Any JSON object."""


def time_field(help_text: str, *, null: bool = True) -> serializers.DateTimeField:
    """A moment, in UTC with milliseconds."""
    return serializers.DateTimeField(allow_null=null, help_text=help_text)


class ProblemSerializer(Shape):
    """Every refusal."""

    code = serializers.ChoiceField(sorted(HTTP_STATUS), help_text="What happened, for programs.")
    message = serializers.CharField(help_text="What happened, for people.")
    request_id = serializers.CharField(help_text="Also in the header X-Request-ID and in the server's log.")
    details = JsonObject(required=False, help_text="Facts that go with the code, such as `fields` or `task_id`.")
