"""What an application needs to write handlers: ``from tasks_app.handlers import task, TaskContext, RetryableError``."""

from tasks_app.domain.retry import RetryPolicy
from tasks_app.handlers.context import TaskContext
from tasks_app.handlers.errors import PermanentError, RetryableError, TaskCancelled
from tasks_app.handlers.registry import Handler, Registry, default_registry, task

__all__ = [
    "Handler",
    "PermanentError",
    "Registry",
    "RetryPolicy",
    "RetryableError",
    "TaskCancelled",
    "TaskContext",
    "default_registry",
    "task",
]
