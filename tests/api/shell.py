"""Commands of ``manage.py``, run in the test's own process."""

from __future__ import annotations

import io
import json
from typing import Any, ClassVar

from django.core.management import call_command


class Ran:
    """How ``manage.py tasks`` ended and what it wrote; a subclass names another command."""

    command: ClassVar[str] = "tasks"

    def __init__(self, *words: str) -> None:
        out, err = io.StringIO(), io.StringIO()
        self.code: int | str | None = 0
        try:
            call_command(self.command, *words, stdout=out, stderr=err)
        except SystemExit as end:
            self.code = end.code
        self.out, self.err = out.getvalue(), err.getvalue()

    @property
    def json(self) -> list[Any]:
        """Each line's JSON."""
        return [json.loads(line) for line in self.out.splitlines()]
