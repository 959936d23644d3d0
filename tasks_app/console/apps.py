"""The console as a Django app of its own, so that its permissions are called ``console.<right>``."""

from __future__ import annotations

import logging
from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ConsoleConfig(AppConfig):
    """Keeps the groups of the roles as ``domain.roles`` has them, whenever the database was migrated."""

    name = "tasks_app.console"
    label = "console"
    verbose_name = "Operations console"

    def ready(self) -> None:
        """Django has loaded all apps."""
        # It tells of each sign-in four times; what it refuses is a warning.
        logging.getLogger("axes").setLevel(logging.WARNING)
        # After Django's own receiver, connected earlier, which has just made the permissions.
        post_migrate.connect(_keep_roles, sender=self)


def _keep_roles(using: str, **_: Any) -> None:
    from tasks_app.console.people import keep_roles

    keep_roles(using)
