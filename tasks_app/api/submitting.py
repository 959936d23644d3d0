"""From a decoded body to a submission, with what the handler of its type declares."""

from __future__ import annotations

from collections.abc import Mapping

from tasks_app import runtime
from tasks_app.conf import config
from tasks_app.domain.errors import DtqError, ValidationError
from tasks_app.domain.submission import Defaults, Submission, parse_submission
from tasks_app.store.commands import MAX_BULK

_NOTHING_DECLARED = Defaults()


def to_submission(raw: object) -> Submission:
    """Check one task.

    Raises:
        ValidationError: names every field that breaks its rule.
        PayloadTooLarge: the payload is over ``DTQ_MAX_PAYLOAD_BYTES``.
    """
    task_type = raw.get("task_type") if isinstance(raw, Mapping) else None
    declared = runtime.registry().defaults(task_type) if isinstance(task_type, str) else _NOTHING_DECLARED
    return parse_submission(raw, config(), declared)


def to_submissions(body: object) -> list[Submission | DtqError]:
    """Check the tasks of a bulk body ``{"tasks": [...]}``; a bad one becomes its error, in its place.

    Raises:
        ValidationError: the body is no such object, or has none or more than ``MAX_BULK`` tasks.
    """
    if not isinstance(body, dict):
        raise ValidationError({"body": ["must be a JSON object"]})
    strangers = {str(name)[:64]: ["is not a field of this request"] for name in body if name != "tasks"}
    tasks = body.get("tasks")
    if not isinstance(tasks, list) or not 1 <= len(tasks) <= MAX_BULK:
        strangers["tasks"] = [f"must be a list of 1..{MAX_BULK} tasks"]
    if strangers:
        raise ValidationError(strangers)
    assert isinstance(tasks, list)
    return [_checked(raw) for raw in tasks]


def _checked(raw: object) -> Submission | DtqError:
    try:
        return to_submission(raw)
    except DtqError as refusal:
        return refusal
