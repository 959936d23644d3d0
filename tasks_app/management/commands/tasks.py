"""``manage.py tasks``: the queue from a shell, over the same commands and queries as the API."""

from __future__ import annotations

import os
import sys
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from tasks_app.api.query import MAX_LIMIT
from tasks_app.domain.errors import DtqError, InvalidCursor, MalformedJson, ValidationError
from tasks_app.domain.operation import BULK_ACTIONS
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.wish import Wish
from tasks_app.shell import actions
from tasks_app.shell.text import printable

REFUSED = 1
USAGE = 2


class Command(BaseCommand):
    """Exits 0 when done, 1 when refused (a line on standard error per refusal says why), 2 when asked wrongly; with
    ``--wait`` 3 when the task ended without success and 4 when it has not ended in that time.
    """

    help = "Submit, list, show and act on tasks, queues, dead letters, operations and workers; look at the audit."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """One word per action, each with its own options."""
        words = parser.add_subparsers(dest="word", metavar="ACTION", required=True, parser_class=ArgumentParser)

        def word(name: str, act: Any, below: Any = None) -> ArgumentParser:
            told = act.__doc__.replace("``", "")
            sub: ArgumentParser = (below or words).add_parser(name, help=told, description=told, allow_abbrev=False)
            sub.set_defaults(act=act)
            # A default below another word would take back what was given to that one.
            unsaid = SUPPRESS if below else False
            sub.add_argument("--json", action="store_true", default=unsaid, help="the API's JSON, one line per answer")
            return sub

        _submit_options(word("submit", actions.submit))
        _list_options(word("list", actions.list_tasks))
        word("show", actions.show).add_argument("id")
        waiting = word("result", actions.result)
        waiting.add_argument("id")
        waiting.add_argument("--wait", type=_seconds, metavar="SECONDS")
        for name, act in (
            ("cancel", actions.cancel),
            ("run-now", actions.run_now),
            ("discard", actions.discard),
        ):
            word(name, act).add_argument("ids", nargs="+", metavar="ID")
        reviving = word("requeue", actions.requeue)
        reviving.add_argument("ids", nargs="*", metavar="ID")
        reviving.add_argument("--fingerprint", help="all dead letters that failed alike (see dlq --groups)")
        word("queues", actions.queues)
        pausing = word("pause", actions.pause)
        pausing.add_argument("queue")
        pausing.add_argument("--reason", default="")
        pausing.add_argument("--until", metavar="TIME", help="ISO 8601 with an offset")
        word("resume", actions.resume).add_argument("queue")
        word("purge", actions.purge).add_argument("queue")
        letters = word("dlq", actions.dlq)
        letters.add_argument("--groups", action="store_true", help="by what they have in common")
        letters.add_argument("--purge", action="store_true", help="discard all of them")
        letters.add_argument("--fingerprint", help="only those that failed alike")
        _page_options(letters)
        fleet = word("workers", actions.workers)
        fleet.add_argument("wish", nargs="?", choices=[wish.value for wish in Wish])
        fleet.add_argument("ids", nargs="*", metavar="ID")
        operations = word("operations", actions.operations)
        _page_options(operations)
        bulks = operations.add_subparsers(metavar="ACTION", parser_class=ArgumentParser)
        bulk = word("begin", actions.begin, bulks)
        bulk.add_argument("action", choices=[action.value for action in BULK_ACTIONS])
        bulk.add_argument("--all", action="store_true", help="all tasks that the action is for")
        bulk.add_argument("--fingerprint", help="only dead letters that failed alike")
        bulk.add_argument("--careful", action="store_true", help="requeue a few first; stop when too many fail again")
        _filter_options(bulk)
        word("show", actions.show_operation, bulks).add_argument("id")
        word("abort", actions.abort, bulks).add_argument("id")
        log = word("audit", actions.audit)
        log.add_argument("--task", metavar="ID")
        _page_options(log)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run one action and print what it yields."""
        code = 0
        try:
            for answer in options["act"](Namespace(**options)):
                if isinstance(answer, DtqError):
                    code = REFUSED
                    self.stderr.write(printable(_told(answer)))
                else:
                    code = code or answer.code
                    self.stdout.write(answer.json if options["json"] else answer.text)
        except ValidationError as error:
            lines = [f"{name} {rule}" for name, rules in error.fields.items() for rule in rules]
            self._end("; ".join(lines), USAGE)
        except (MalformedJson, InvalidCursor) as error:
            self._end(error.message, USAGE)
        except DtqError as error:
            self._end(_told(error), REFUSED)
        except OSError as error:
            # The reader of a pipe (`| head`) has left: nothing is wrong, and Python would complain while it exits.
            if isinstance(error, BrokenPipeError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                sys.exit(0)
            self._end(str(error), USAGE)
        if code:
            sys.exit(code)

    def _end(self, message: str, code: int) -> None:
        self.stderr.write(printable(message))
        sys.exit(code)


def _told(error: DtqError) -> str:
    """``CODE: why``, with the task that it is about."""
    task_id = error.details.get("task_id")
    which = f" (task {task_id})" if task_id and task_id not in error.message else ""
    return f"{error.code}: {error.message}{which}"


def _submit_options(parser: ArgumentParser) -> None:
    parser.add_argument("task_type", metavar="TYPE")
    parser.add_argument("payload", nargs="?", default="{}", metavar="JSON", help="an object, @FILE, or - for stdin")
    parser.add_argument("--queue")
    parser.add_argument("--priority", type=int, metavar="0-9")
    parser.add_argument("--max-attempts", type=int, metavar="N")
    parser.add_argument("--timeout-ms", type=int, metavar="MS")
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--delay", type=float, metavar="SECONDS")
    start.add_argument("--run-at", metavar="TIME", help="ISO 8601 with an offset")
    parser.add_argument("--key", help="idempotency key")
    parser.add_argument("--metadata", default="{}", metavar="JSON")
    parser.add_argument("--wait", type=_seconds, metavar="SECONDS", help="wait for the end and print the result")


def _list_options(parser: ArgumentParser) -> None:
    _filter_options(parser)
    parser.add_argument("-q", metavar="TEXT", help="an id, the start of an id, or an idempotency key")
    _page_options(parser)


def _filter_options(parser: ArgumentParser) -> None:
    parser.add_argument("--status", choices=[status.value for status in TaskStatus])
    parser.add_argument("--queue")
    parser.add_argument("--type")
    parser.add_argument("--worker")
    parser.add_argument("--after", metavar="TIME", help="created after")
    parser.add_argument("--before", metavar="TIME", help="created before")


def _page_options(parser: ArgumentParser) -> None:
    parser.add_argument("--limit", type=_limit, default=25, metavar=f"1-{MAX_LIMIT}")
    parser.add_argument("--cursor", help="where the page before ended")


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MAX_LIMIT:
        raise ArgumentTypeError(f"must be a whole number 1..{MAX_LIMIT}")
    return int(text)


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 86_400:
        raise ArgumentTypeError("must be 0..86400")
    return number
