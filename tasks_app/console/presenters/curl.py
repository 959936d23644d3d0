"""A task as the curl line that would submit it again."""

from __future__ import annotations

import shlex

from tasks_app.console.presenters.json_view import masked_text
from tasks_app.domain.redaction import MASK, Redaction
from tasks_app.domain.strict_json import dumps
from tasks_app.domain.task import Task

SHOWN_PAYLOAD = 4000


def submit_line(task: Task, base_url: str, redaction: Redaction, *, needs_key: bool) -> str:
    """One shell command, safe to paste: every value is quoted, secrets are masked, a long payload becomes ``@file``."""
    payload = masked_text(task.payload_json or "{}", redaction)
    fields = [
        f'"task_type":{dumps(task.task_type)}',
        f'"queue":{dumps(task.queue)}',
        f'"priority":{task.priority}',
        f'"max_attempts":{task.max_attempts}',
        f'"timeout_ms":{task.timeout_ms}',
    ]
    metadata = masked_text(task.metadata_json or "{}", redaction)
    if metadata.strip() != "{}":
        fields.append(f'"metadata":{metadata}')
    too_long = len(payload) > SHOWN_PAYLOAD
    if not too_long:
        fields.append(f'"payload":{payload}')
    body = "@task.json" if too_long else "{" + ",".join(fields) + "}"
    return _line(base_url, body, needs_key=needs_key)


def hint(task: Task, redaction: Redaction) -> str:
    """What has to be done before :func:`submit_line` submits the same task; empty when it can be pasted as it is."""
    texts = (task.payload_json or "{}", task.metadata_json or "{}")
    hidden = any(masked_text(text, redaction) != text for text in texts)
    if len(masked_text(texts[0], redaction)) > SHOWN_PAYLOAD:
        keep = " and fill in what is masked" if hidden else ""
        return f"The payload is too long for a line: save the request with its payload as task.json first{keep}."
    return f"Values shown as {MASK} are masked: fill them in first." if hidden else ""


def first_line(base_url: str, *, needs_key: bool) -> str:
    """The line that an empty queue invites to try."""
    return _line(base_url, '{"task_type":"echo","payload":{"hello":"world"}}', needs_key=needs_key)


def _line(base_url: str, body: str, *, needs_key: bool) -> str:
    parts = ["curl", "-X", "POST", shlex.quote(f"{base_url}api/v1/tasks")]
    if needs_key:
        parts += ["-H", '"X-API-Key: $DTQ_API_KEY"']
    parts += ["-H", shlex.quote("Content-Type: application/json"), "-d", shlex.quote(body)]
    return " ".join(parts)
