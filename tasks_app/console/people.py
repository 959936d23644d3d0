"""The console's users and their roles. Every change of a user is in the audit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from django.contrib.auth.models import Group, Permission, User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError as Invalid
from django.db import transaction

from tasks_app.domain.errors import NotFound, ValidationError
from tasks_app.domain.roles import RIGHTS, Role
from tasks_app.domain.snapshot import Actor

APP = "console"


def keep_roles(using: str = "default") -> None:
    """Give each role's group exactly the role's permissions; make the groups that are missing."""
    permissions = {
        permission.codename: permission
        for permission in Permission.objects.using(using).filter(content_type__app_label=APP)
    }
    for role, rights in RIGHTS.items():
        group, _ = Group.objects.using(using).get_or_create(name=role.value)
        group.permissions.set([permissions[right.value] for right in rights])


def role_of(user: User) -> Role | None:
    """The user's role; ``None`` when they were given none. A superuser may do what an admin may."""
    if user.is_superuser:
        return Role.ADMIN
    return _highest(group.name for group in user.groups.all())


class Notes(Protocol):
    """Where changes are noted: the queue's audit."""

    def note(self, actor: Actor, action: str, target: str, detail: str = "") -> None:
        """One entry."""


class People:
    """Adds and changes users, each change with its entry in the audit or not at all."""

    def __init__(self, audit: Notes, actor: Actor) -> None:
        self._audit = audit
        self._actor = actor

    def add(self, name: str, role: Role, password: str) -> User:
        """A new user.

        Raises:
            ValidationError: the name is taken or none, or the password is too weak; says what of it.
            StoreUnavailable: the audit cannot be written; there is no such user then.
        """
        user = User(username=User.normalize_username(name))
        with transaction.atomic():
            user.set_password(password)
            _check(user.full_clean)
            _check(lambda: validate_password(password, user), "password")
            user.save()
            user.groups.add(Group.objects.get(name=role.value))
            self._note("user-add", user, role.value)
        return user

    def find(self, name: str) -> User:
        """The user of that name.

        Raises:
            NotFound: there is none.
        """
        user = User.objects.filter(username=User.normalize_username(name)).first()
        if user is None:
            raise NotFound(f"There is no user {name}")
        return user

    def set_role(self, user: User, role: Role) -> None:
        """Make ``role`` the user's only one, from their next request on; groups that are no roles stay."""
        with transaction.atomic():
            user.groups.remove(*Group.objects.filter(name__in=list(Role)).exclude(name=role.value))
            user.groups.add(Group.objects.get(name=role.value))
            self._note("user-role", user, role.value)

    def set_active(self, user: User, active: bool) -> None:
        """Let the user sign in or not. One who may not is signed out everywhere by their next request."""
        with transaction.atomic():
            user.is_active = active
            user.save(update_fields=["is_active"])
            self._note("user-enable" if active else "user-disable", user)

    def set_password(self, user: User, password: str) -> None:
        """Give the user another password, which ends all their sessions.

        Raises:
            ValidationError: it is too weak; says how.
        """
        _check(lambda: validate_password(password, user), "password")
        with transaction.atomic():
            user.set_password(password)
            user.save(update_fields=["password"])
            self._note("user-password", user)

    def _note(self, action: str, user: User, detail: str = "") -> None:
        self._audit.note(self._actor, action, f"user:{user.get_username()}", detail)


def _check(step: Callable[[], None], field: str = "") -> None:
    try:
        step()
    except Invalid as error:
        found = error.message_dict if hasattr(error, "error_dict") else {field: error.messages}
        raise ValidationError({name: [text.rstrip(".") for text in texts] for name, texts in found.items()}) from None


def _highest(names: Iterable[str]) -> Role | None:
    held = set(names)
    return next((role for role in reversed(Role) if role.value in held), None)
