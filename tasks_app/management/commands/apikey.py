"""``manage.py apikey``: API keys from a shell."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from tasks_app import runtime
from tasks_app.conf import config
from tasks_app.domain.api_key import ApiKey, Scope, parse_grant
from tasks_app.domain.errors import DtqError, ValidationError
from tasks_app.domain.wire import iso
from tasks_app.shell.actions import actor
from tasks_app.shell.text import clock, printable, table

REFUSED = 1
USAGE = 2


class Command(BaseCommand):
    """Exits 0 when done, 1 when refused, 2 when asked wrongly; a line on standard error says why."""

    help = "Make, list and revoke API keys. docs/access.md says what they are good for."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """One word per action."""
        words = parser.add_subparsers(dest="word", metavar="ACTION", required=True, parser_class=ArgumentParser)
        create = words.add_parser("create", help="make a key and print its secret, which is shown this once")
        create.set_defaults(act=self._create)
        create.add_argument("name", help="lower-case letters, digits and hyphens; the audit shows it")
        create.add_argument("--scope", action="append", required=True, metavar="|".join(Scope), help="may be repeated")
        create.add_argument(
            "--queue", action="append", default=[], metavar="GLOB", help="only these queues, such as 'mail-*'"
        )
        create.add_argument("--rate", default="", metavar="N", help="requests a second, 0 for no limit")
        create.add_argument("--expires", default="", metavar="SPAN", help="such as 12h or 90d; never when left out")
        listing = words.add_parser("list", help="every key, without its secret")
        listing.set_defaults(act=self._list)
        listing.add_argument("--json", action="store_true", help="one JSON object a line")
        revoke = words.add_parser("revoke", help="withdraw a key; the next request with it is refused")
        revoke.set_defaults(act=self._revoke)
        revoke.add_argument("name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run one action."""
        try:
            options["act"](options)
        except ValidationError as error:
            self._end("; ".join(f"{name} {rule}" for name, rules in error.fields.items() for rule in rules), USAGE)
        except DtqError as error:
            self._end(f"{error.code}: {error.message}", REFUSED)

    def _create(self, options: dict[str, Any]) -> None:
        grant = parse_grant(options["name"], options["scope"], options["queue"], options["rate"], options["expires"])
        ends_open_mode = runtime.open_mode()
        self.stdout.write(runtime.api_keys().grant(grant, actor()))
        self.stderr.write("Keep it now: it is not stored and cannot be shown again.")
        if ends_open_mode:
            self.stderr.write(
                "This ends open local mode: the API asks for a key from now on, and the console for a user."
            )

    def _list(self, options: dict[str, Any]) -> None:
        keys = runtime.api_keys().all()
        if options["json"]:
            for key in keys:
                self.stdout.write(json.dumps(_body(key)))
            return
        rows = [
            (
                key.name,
                ",".join(sorted(key.scopes)),
                ",".join(key.reach.globs) or "all",
                "setting" if key.rate is None else f"{key.rate:g}/s" if key.rate else "none",
                f"expired {clock(key.expires_at)}" if key.expired else clock(key.expires_at),
                clock(key.used_at),
                key.created_by,
            )
            for key in keys
        ]
        self.stdout.write(table(("key", "scopes", "queues", "rate", "expires", "used", "made by"), rows))

    def _revoke(self, options: dict[str, Any]) -> None:
        runtime.api_keys().revoke(options["name"], actor())
        self.stdout.write(f"{printable(options['name'])} revoked")
        if config().open_mode and not runtime.api_keys().all():
            self.stderr.write("That was the last key, and DTQ_API_KEY is not set: open local mode again.")

    def _end(self, message: str, code: int) -> None:
        self.stderr.write(printable(message))
        sys.exit(code)


def _body(key: ApiKey) -> dict[str, Any]:
    return {
        "name": key.name,
        "scopes": sorted(key.scopes),
        "queues": list(key.reach.globs),
        "rate": key.rate,
        "created_at": iso(key.created_at),
        "created_by": key.created_by,
        "expires_at": None if key.expires_at is None else iso(key.expires_at),
        "expired": key.expired,
        "used_at": None if key.used_at is None else iso(key.used_at),
    }
