"""``manage.py createoperator``: users from the shell, the password never on its command line."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command

from tasks_app import runtime
from tasks_app.console.people import role_of
from tasks_app.domain.errors import StoreUnavailable
from tasks_app.domain.roles import Role
from tests.console.people import PASSWORD

if TYPE_CHECKING:
    from tasks_app.store.queries import Queries
    from tests.console.conftest import Configure

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _wired(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{PASSWORD}\r\n"))


def _run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("createoperator", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def test_a_user_is_made_and_changed(queries: Queries, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run("otto", "--password-stdin") == "otto may sign in as operator.\n"
    otto = User.objects.get(username="otto")
    assert otto.check_password(PASSWORD)
    assert role_of(otto) is Role.OPERATOR
    assert not otto.is_superuser
    assert _run("otto", "--role", "viewer", "--disable") == "otto is viewer now, may not sign in any more.\n"
    otto.refresh_from_db()
    assert (role_of(otto), otto.is_active) == (Role.VIEWER, False)
    monkeypatch.setenv("OPERATOR_PASSWORD", "another good one")
    assert _run("otto", "--enable", "--new-password") == "otto has another password, may sign in.\n"
    otto.refresh_from_db()
    assert otto.check_password("another good one")
    entries = queries.audit().items
    assert [entry.action for entry in entries][::-1] == [
        "user-add",
        "user-role",
        "user-disable",
        "user-password",
        "user-enable",
    ]
    assert {entry.actor.partition(":")[0] for entry in entries} == {"cli"}
    assert all(entry.source for entry in entries)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["otto", "--disable"], "There is no user otto"),
        (["o o", "--password-stdin"], "username"),
        (["otto"], "No terminal to ask for the password"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: list[str], says: str) -> None:
    with pytest.raises(CommandError, match=says):
        _run(*arguments)
    assert not User.objects.exists()


def test_a_weak_password_makes_no_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPERATOR_PASSWORD", "12345")
    with pytest.raises(CommandError, match="password This password is too short"):
        _run("otto")
    assert not User.objects.exists()


def test_a_user_that_exists_is_not_changed_by_accident() -> None:
    _run("otto", "--password-stdin")
    with pytest.raises(CommandError, match="otto exists. Say what to change"):
        _run("otto", "--password-stdin")


def test_a_database_that_was_not_migrated_is_told_as_that() -> None:
    Group.objects.all().delete()
    with pytest.raises(CommandError, match=r"Run manage.py migrate first"):
        _run("otto", "--password-stdin")
    assert not User.objects.exists()


def test_without_redis_the_first_user_is_made_and_the_gap_in_the_audit_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Away:
        def note(self, *_: Any) -> None:
            raise StoreUnavailable("Redis does not answer")

    monkeypatch.setattr(runtime, "audit", Away)
    assert "This is not in the audit: Redis does not answer" in _run("ada", "--role", "admin", "--password-stdin")
    assert role_of(User.objects.get(username="ada")) is Role.ADMIN
