"""A request to run a task: what is allowed, what is left out, and what it defaults to."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tasks_app.domain import strict_json
from tasks_app.domain.config import Config
from tasks_app.domain.errors import MalformedJson, PayloadTooLarge, ValidationError

TYPE_PATTERN = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
QUEUE_PATTERN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
KEY_PATTERN = re.compile(r"[\x20-\x7e]{1,255}")
MAX_DELAY_S = 31_536_000
MAX_TIMEOUT_MS = 3_600_000
MAX_MOMENT_MS = 253_402_300_799_999
"""The last millisecond of the year 9999 in UTC: later ones have no ISO 8601 text to be shown as."""
MAX_METADATA_BYTES = 4096
FIELDS = frozenset(
    {
        "task_type",
        "payload",
        "queue",
        "priority",
        "max_attempts",
        "timeout_ms",
        "delay_seconds",
        "run_at",
        "idempotency_key",
        "metadata",
    }
)


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a handler declares for submissions that leave it out; ``None`` falls through to the settings."""

    queue: str | None = None
    priority: int | None = None
    max_attempts: int | None = None
    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """A valid request. ``delay_ms`` counts from the moment of acceptance, ``run_at_ms`` is epoch; one of them is 0."""

    task_type: str
    payload_json: str
    queue: str
    priority: int
    max_attempts: int
    timeout_ms: int
    metadata_json: str
    delay_ms: int = 0
    run_at_ms: int = 0
    ttl_ms: int | None = None
    idempotency_key: str | None = None

    @property
    def fingerprint(self) -> str:
        """Tells two submissions with one idempotency key apart: hex digest of type and payload text."""
        return hashlib.sha256(f"{self.task_type}\n{self.payload_json}".encode()).hexdigest()[:32]


def parse_submission(raw: object, config: Config, declared: Defaults = Defaults()) -> Submission:
    """Check a decoded request body and fill in what it leaves out.

    Raises:
        ValidationError: names every field that breaks its rule.
        PayloadTooLarge: the payload's text is over ``max_payload_bytes``.
    """
    if not isinstance(raw, Mapping):
        raise ValidationError({"body": ["must be a JSON object"]})
    check = _Checker(raw)
    for name in raw:
        if name not in FIELDS:
            check.fail(str(name)[:64], "is not a field of a task")
    task_type = check.text("task_type", TYPE_PATTERN, None)
    queue = check.text("queue", QUEUE_PATTERN, declared.queue or "default")
    priority = check.integer("priority", 0, 9, 5 if declared.priority is None else declared.priority)
    max_attempts = check.integer(
        "max_attempts",
        1,
        config.max_attempts,
        min(declared.max_attempts or config.default_max_attempts, config.max_attempts),
    )
    timeout_ms = check.integer("timeout_ms", 1, MAX_TIMEOUT_MS, declared.timeout_ms or config.task_timeout_ms)
    delay_ms, run_at_ms = check.when()
    key = check.text("idempotency_key", KEY_PATTERN, "")
    payload_json = check.json_object("payload")
    metadata_json = check.json_object("metadata")
    if len(metadata_json.encode()) > MAX_METADATA_BYTES:
        check.fail("metadata", f"must be at most {MAX_METADATA_BYTES} bytes of JSON")
    if check.problems:
        raise ValidationError(check.problems)
    if len(payload_json.encode()) > config.max_payload_bytes:
        raise PayloadTooLarge(
            f"The payload is over {config.max_payload_bytes} bytes of JSON", limit_bytes=config.max_payload_bytes
        )
    return Submission(
        task_type=task_type,
        payload_json=payload_json,
        queue=queue,
        priority=priority,
        max_attempts=max_attempts,
        timeout_ms=timeout_ms,
        metadata_json=metadata_json,
        delay_ms=delay_ms,
        run_at_ms=run_at_ms,
        ttl_ms=ttl_ms(raw.get("metadata")),
        idempotency_key=key or None,
    )


def ttl_ms(metadata: object) -> int | None:
    """``metadata.ttl_seconds`` in milliseconds; ``None`` (never expires) unless it is a number above zero."""
    ttl = metadata.get("ttl_seconds") if isinstance(metadata, Mapping) else None
    if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not 0 < ttl <= 1e11:
        return None
    return max(1, round(ttl * 1000))


class _Checker:
    """Collects every problem of a request, so that a client learns of all at once."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._raw = raw
        self.problems: dict[str, list[str]] = {}

    def fail(self, name: str, rule: str) -> None:
        self.problems.setdefault(name, []).append(rule)

    def text(self, name: str, pattern: re.Pattern[str], default: str | None) -> str:
        value = self._raw.get(name)
        if value is None:
            if default is None:
                self.fail(name, "is required")
            return default or ""
        if not isinstance(value, str) or pattern.fullmatch(value) is None:
            self.fail(name, f"must match ^{pattern.pattern}$")
            return ""
        return value

    def integer(self, name: str, low: int, high: int, default: int) -> int:
        value = self._raw.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fail(name, f"must be a whole number {low}..{high}")
            return default
        return value

    def json_object(self, name: str) -> str:
        value = self._raw.get(name)
        if value is None:
            return "{}"
        if not isinstance(value, dict):
            self.fail(name, "must be an object")
            return "{}"
        try:
            return strict_json.dumps(value)
        except MalformedJson as error:
            self.fail(name, error.message)
            return "{}"

    def when(self) -> tuple[int, int]:
        delay, run_at = self._raw.get("delay_seconds"), self._raw.get("run_at")
        if delay is not None and run_at is not None:
            self.fail("run_at", "and delay_seconds exclude each other")
        if delay is not None:
            if isinstance(delay, bool) or not isinstance(delay, int | float) or not 0 <= delay <= MAX_DELAY_S:
                self.fail("delay_seconds", f"must be a number 0..{MAX_DELAY_S}")
                return 0, 0
            return round(delay * 1000), 0
        if run_at is not None:
            return 0, self._moment("run_at", run_at)
        return 0, 0

    def _moment(self, name: str, value: object) -> int:
        try:
            moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            self.fail(name, "must be ISO 8601 with an offset, such as 2030-01-31T12:00:00+01:00")
            return 0
        ms = round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)
        if ms > MAX_MOMENT_MS:
            self.fail(name, "must be before the year 10000 in UTC")
        return max(1, ms)
