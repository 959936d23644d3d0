"""Whoever imports this because a task named it has been had."""

from __future__ import annotations

import os

import redis

redis.Redis.from_url(os.environ["DTQ_REDIS_URL"]).set("sprung", 1)


def sprung(*args: object) -> None:
    """Never called."""
