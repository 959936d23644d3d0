"""Who may do what in the console: rights, and the roles that bundle them."""

from __future__ import annotations

from enum import StrEnum


class Right(StrEnum):
    """What the console asks for before it shows or does something. The values are the names of Django permissions."""

    VIEW = "view"
    OPERATE = "operate"
    PURGE = "purge"
    MANAGE_ACCESS = "manage_access"


class Role(StrEnum):
    """What a user is; the values are the names of Django groups. Each role may do what the one before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.VIEWER: frozenset({Right.VIEW}),
    Role.OPERATOR: frozenset({Right.VIEW, Right.OPERATE}),
    Role.ADMIN: frozenset(Right),
}

OPEN_MODE_RIGHTS = frozenset(Right) - {Right.MANAGE_ACCESS}
"""What everybody may do while no key is set. Users and keys are not among it: they would outlive the mode."""


def role_with(rights: frozenset[Right]) -> Role | None:
    """The highest role whose rights are all among ``rights``; ``None`` below the lowest one."""
    held = [role for role in Role if RIGHTS[role] <= rights]
    return held[-1] if held else None
