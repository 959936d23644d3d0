"""Makes ``manage.py`` find this package's commands."""

from __future__ import annotations

from django.apps import AppConfig


class WorkersConfig(AppConfig):
    """The worker, the scheduler and the commands that run them."""

    name = "workers"
    verbose_name = "Workers"
