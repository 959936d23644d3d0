"""People at the console: users of each role, and browsers that they are signed in with."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from tasks_app.console.people import People
from tasks_app.domain.roles import Role
from tasks_app.domain.snapshot import Actor

PASSWORD = "correct horse battery"


class Deaf:
    """An audit that nobody reads."""

    def note(self, actor: Actor, action: str, target: str, detail: str = "") -> None:
        """Nothing."""


def make_user(name: str, role: Role | None = Role.OPERATOR) -> User:
    """A user with ``PASSWORD``."""
    if role is None:
        return User.objects.create_user(name, password=PASSWORD)
    return People(Deaf(), Actor("test")).add(name, role, PASSWORD)


def signed_in(name: str, role: Role | None = Role.OPERATOR, *, htmx: bool = False, **options: Any) -> Client:
    """A browser that a new user is signed in with."""
    headers = {"HX-Request": "true"} if htmx else None
    client = Client(headers=headers, **options)
    client.force_login(make_user(name, role), backend="django.contrib.auth.backends.ModelBackend")
    return client
