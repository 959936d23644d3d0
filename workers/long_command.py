"""What the commands that run for long share: where the log is JSON, so are their start's findings and their end."""

from __future__ import annotations

import sys
from typing import Any

import structlog
from django.conf import settings
from django.core import checks
from django.core.management.base import BaseCommand, CommandError

log = structlog.get_logger(__name__)


class LongCommand(BaseCommand):
    """A command whose findings at its start, and whose own end by an error, go where its log goes.

    Without ``DTQ_LOG_JSON`` they are Django's text for people, as those of any command.
    """

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run; an error that ends the command is its last line."""
        try:
            return super().execute(*args, **options)
        except CommandError as error:
            if not settings.LOGGING.log_json:
                raise
            log.error("COMMAND_FAILED", error=str(error))
            sys.exit(error.returncode)

    def check(self, *args: Any, **options: Any) -> None:
        """Say what the checks with these ``tags`` find.

        Raises:
            CommandError: an error is among it.
        """
        if not settings.LOGGING.log_json:
            super().check(*args, **options)
            return
        found = [message for message in checks.run_checks(tags=options.get("tags")) if not message.is_silenced()]
        for message in found:
            log.log(message.level, "CHECK_FINDING", id=message.id, message=message.msg, hint=message.hint)
        if any(message.is_serious() for message in found):
            raise CommandError("It cannot start: see the findings of level error.")

    def remark(self, text: str) -> None:
        """Say ``text`` to whoever starts the command."""
        if settings.LOGGING.log_json:
            log.warning("REMARK", text=text)
        else:
            self.stderr.write(text)
