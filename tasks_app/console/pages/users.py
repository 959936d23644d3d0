"""The users, for admins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User

from tasks_app.console.armed import must_arm
from tasks_app.console.fragments import Fragment, LivePage, Reading
from tasks_app.console.people import role_of
from tasks_app.domain.roles import Right, Role


@dataclass(frozen=True, slots=True)
class UserLine:
    """A user. ``choices`` are the roles that they may be given here; none for oneself and for superusers."""

    id: int
    name: str
    role: Role | None
    active: bool
    seen_at: int | None
    choices: list[Role]
    note: str


def build_users(reading: Reading) -> dict[str, Any]:
    """A line per user, by name."""
    return {"lines": [_line(user, reading) for user in User.objects.order_by("username").prefetch_related("groups")]}


def _line(user: User, reading: Reading) -> UserLine:
    own = user == reading.request.user
    return UserLine(
        id=user.pk,
        name=user.get_username(),
        role=role_of(user),
        active=user.is_active,
        seen_at=None if user.last_login is None else round(user.last_login.timestamp() * 1000),
        choices=[] if own or user.is_superuser else list(Role),
        note="you" if own else "superuser" if user.is_superuser else "",
    )


users = LivePage(
    "console/users.html",
    reading=Reading,
    fragments=[Fragment("users", "console/_users.html", build_users, rows=True)],
    base=lambda reading: {"roles": list(Role), "must_arm": must_arm(reading.request)},
    right=Right.MANAGE_ACCESS,
)
