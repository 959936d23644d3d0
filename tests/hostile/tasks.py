"""Handlers that say everything they know, loaded through ``DTQ_TASK_MODULES``."""

from __future__ import annotations

import logging
import os
from typing import Any

from tasks_app.conf import config, redis_url
from tasks_app.domain.task import TaskDetail
from tasks_app.handlers import TaskContext, task
from tasks_app.store.queries import Queries

EXPLOSIVE_ID = "f" * 32
"""A task that the site cannot show: asking for it raises what nobody foresaw."""

log = logging.getLogger("shop")


@task("blab")
def blab(payload: dict[str, Any], ctx: TaskContext) -> dict[str, Any]:
    """Tell the payload in every way there is; then fail with it, unless ``fine``."""
    for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
        log.log(level, "working on %s for %s", payload, config().api_key, extra={"payload": payload})
    ctx.log(f"trying {payload['password']} of {payload}")
    ctx.progress(0.5, f"logging in with {payload['password']}")
    try:
        raise PermissionError(f"{payload['password']} is wrong")
    except PermissionError as error:
        log.exception("cannot log in: %s at %s", payload, redis_url())
        if payload.get("fine"):
            return payload
        raise ValueError(f"no login with {payload} ({payload['password']!r})") from error


def _explode(self: Queries, task_id: str) -> TaskDetail:
    if task_id == EXPLOSIVE_ID:
        raise RuntimeError(f"{redis_url()} with {config().api_key}, token={os.environ['DTQ_TEST_SECRET']}")
    return _detail(self, task_id)


_detail = Queries.detail
if "DTQ_TEST_SECRET" in os.environ:
    Queries.detail = _explode  # type: ignore[method-assign]
