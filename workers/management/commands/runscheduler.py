"""``manage.py runscheduler``: the scheduler alone, for fleets whose workers run with ``--no-scheduler``."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from tasks_app.checks import SERVER_TAG, SETTINGS_TAG
from tasks_app.conf import config, redis_url
from tasks_app.domain.errors import ConfigError
from workers.engine.runner import run_scheduler
from workers.long_command import LongCommand


class Command(LongCommand):
    """Start as many as you like: one leads, another takes over within seconds when it ends."""

    help = "Run a scheduler without a worker. Redis need not be there yet."
    requires_system_checks = [SETTINGS_TAG, SERVER_TAG]

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until asked to stop."""
        try:
            settings = config()
        except ConfigError as error:
            raise CommandError(error.message) from error
        run_scheduler(settings, redis_url())
