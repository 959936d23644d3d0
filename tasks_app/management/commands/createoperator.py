"""``manage.py createoperator``: makes the console's users, and changes them."""

from __future__ import annotations

import getpass
import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import Group, User
from django.core.management.base import BaseCommand, CommandError, OutputWrapper
from django.db import DatabaseError

from tasks_app import runtime
from tasks_app.checks import SETTINGS_TAG
from tasks_app.console.people import People
from tasks_app.domain.errors import DtqError, NotFound, StoreUnavailable
from tasks_app.domain.roles import Role
from tasks_app.domain.snapshot import Actor
from tasks_app.shell.actions import actor

PASSWORD_VARIABLE = "OPERATOR_PASSWORD"  # noqa: S105 - the name of a variable


class Command(BaseCommand):
    """A user that exists is changed as the options say; without one of them nothing about it changes."""

    help = (
        "Make a user of the console, or change one. The password is asked for, or read from standard input "
        f"(--password-stdin) or from {PASSWORD_VARIABLE}; never from the command line, which others on the machine see."
    )
    requires_system_checks = [SETTINGS_TAG]

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Who, and what they may do."""
        parser.add_argument("name")
        roles = [role.value for role in Role]
        parser.add_argument("--role", choices=roles, help="what they may do (a new user: operator)")
        parser.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
        parser.add_argument("--new-password", action="store_true", help="give a user that exists another password")
        active = parser.add_mutually_exclusive_group()
        active.add_argument("--disable", action="store_true", help="sign them out and keep them out")
        active.add_argument("--enable", action="store_true", help="let them in again")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make or change the user."""
        people = People(_Audit(self.stderr), actor())
        try:
            try:
                self._change(people, people.find(options["name"]), options)
            except NotFound:
                self._add(people, options)
        except (DatabaseError, Group.DoesNotExist) as error:
            raise CommandError(f"The database is not ready ({error}). Run manage.py migrate first.") from error
        except DtqError as error:
            raise CommandError(f"{error.message}.") from error

    def _add(self, people: People, options: dict[str, Any]) -> None:
        if options["disable"] or options["enable"] or options["new_password"]:
            raise CommandError(f"There is no user {options['name']}.")
        role = Role(options["role"] or Role.OPERATOR)
        people.add(options["name"], role, _password(options["password_stdin"]))
        self.stdout.write(f"{options['name']} may sign in as {role}.")

    def _change(self, people: People, user: User, options: dict[str, Any]) -> None:
        name = user.get_username()
        done = []
        if options["role"]:
            people.set_role(user, Role(options["role"]))
            done.append(f"is {options['role']} now")
        if options["new_password"]:
            people.set_password(user, _password(options["password_stdin"]))
            done.append("has another password")
        if options["disable"] or options["enable"]:
            people.set_active(user, bool(options["enable"]))
            done.append("may sign in" if options["enable"] else "may not sign in any more")
        if not done:
            raise CommandError(f"{name} exists. Say what to change: --role, --new-password, --disable or --enable.")
        self.stdout.write(f"{name} {', '.join(done)}.")


class _Audit:
    """The audit, where Redis is there already: the first user may well be made before anything runs."""

    def __init__(self, stderr: OutputWrapper) -> None:
        self._stderr = stderr

    def note(self, actor: Actor, action: str, target: str, detail: str = "") -> None:
        try:
            runtime.audit().note(actor, action, target, detail)
        except StoreUnavailable as error:
            self._stderr.write(f"This is not in the audit: {error.message}")


def _password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if password := os.environ.get(PASSWORD_VARIABLE):
        return password
    if not sys.stdin.isatty():
        raise CommandError(f"No terminal to ask for the password: use --password-stdin or {PASSWORD_VARIABLE}.")
    password = getpass.getpass()
    if getpass.getpass("Again: ") != password:
        raise CommandError("The two passwords differ. Nothing was changed.")
    return password
