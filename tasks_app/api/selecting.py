"""From a decoded body to what an operation does, and to which tasks."""

from __future__ import annotations

from typing import Any

from tasks_app.api.query import FINGERPRINT, TEXT
from tasks_app.api.times import MOMENT_RULE, parse_moment
from tasks_app.domain.errors import ValidationError
from tasks_app.domain.operation import BULK_ACTIONS, Selection
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.submission import QUEUE_PATTERN, TYPE_PATTERN
from tasks_app.domain.transitions import Action

_PATTERNS = {
    "queue": QUEUE_PATTERN,
    "task_type": TYPE_PATTERN,
    "worker_id": TEXT,
    "fingerprint": FINGERPRINT,
}
_MOMENTS = ("created_after", "created_before")


def to_selection(body: dict[str, Any]) -> tuple[Action, Selection, bool]:
    """Check ``{"action": ..., "filter": {...}, "careful": false}``: the three of them.

    Raises:
        ValidationError: names every member that breaks its rule.
    """
    problems: dict[str, list[str]] = {}
    action = body.get("action")
    if action not in BULK_ACTIONS:
        problems["action"] = [f"must be one of {', '.join(BULK_ACTIONS)}"]
    careful = body.get("careful", False)
    if not isinstance(careful, bool):
        problems["careful"] = ["must be true or false"]
    chosen = body.get("filter")
    if not isinstance(chosen, dict):
        raise ValidationError(problems | {"filter": ["must be an object; an empty one means all"]})
    values: dict[str, Any] = {}
    for name, value in chosen.items():
        rule = "is not a field of a filter"
        if name in _PATTERNS:
            rule = "" if isinstance(value, str) and _PATTERNS[name].fullmatch(value) else "is malformed"
        elif name in _MOMENTS:
            value = parse_moment(value) if isinstance(value, str) else None
            rule = MOMENT_RULE if value is None else ""
        elif name == "status":
            rule = "" if value in list(TaskStatus) else f"must be one of {', '.join(TaskStatus)}"
        if rule:
            problems[f"filter.{name[:64]}"] = [rule]
        values[name] = value
    if problems:
        raise ValidationError(problems)
    if "status" in values:
        values["status"] = TaskStatus(values["status"])
    return Action(str(action)), Selection(**values), bool(careful)
