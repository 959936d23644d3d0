"""The domain's public names, where a Django project looks for them. Nothing here is a database table."""

from __future__ import annotations

from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Task
from tasks_app.domain.transitions import VALID_TRANSITIONS, transition

__all__ = ["VALID_TRANSITIONS", "Task", "TaskStatus", "transition"]
