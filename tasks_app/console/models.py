"""Where Django hangs the console's permissions. The queue itself lives in Redis, and nothing here has a table."""

from __future__ import annotations

from django.db import models

from tasks_app.domain.roles import Right


class Console(models.Model):
    """Holds the permissions."""

    class Meta:
        """No table, and none of Django's own four permissions."""

        managed = False
        default_permissions = ()
        permissions = [(right.value, right.value.replace("_", " ").capitalize()) for right in Right]

    def __str__(self) -> str:
        return "console"
