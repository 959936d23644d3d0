"""Settings and submissions that suit tests; each test names only what it is about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tasks_app.domain.config import Config
from tasks_app.domain.snapshot import Actor
from tasks_app.domain.submission import Submission

ACTOR = Actor(name="tester", source="test", request_id="req-1")

_CONFIG = Config(
    retry_base_delay=0.05,
    retry_max_delay=1.0,
    max_queue_depth=10_000,
    drain_timeout_s=2.0,
)
_SUBMISSION = Submission(
    task_type="echo",
    payload_json="{}",
    queue="default",
    priority=5,
    max_attempts=3,
    timeout_ms=30_000,
    metadata_json="{}",
)


def make_config(**overrides: Any) -> Config:
    """Settings for tests: production defaults but for short waits."""
    return replace(_CONFIG, **overrides)


def make_submission(**overrides: Any) -> Submission:
    """A valid submission of ``echo`` to ``default`` with 3 attempts."""
    return replace(_SUBMISSION, **overrides)
