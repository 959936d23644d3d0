"""Django's view of the queue."""

from __future__ import annotations

from django.apps import AppConfig


class TasksAppConfig(AppConfig):
    """Registers the system checks. Everything else is made when first asked for (``tasks_app.runtime``)."""

    name = "tasks_app"
    verbose_name = "Task queue"

    def ready(self) -> None:
        """Django has loaded all apps."""
        from tasks_app import checks

        checks.register()
