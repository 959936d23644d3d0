"""A soak's report: one page of text, which docs/soak.md holds as it is."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.soak.accounts import Account
from tests.soak.book import Book
from tests.soak.installation import Blow
from tests.soak.kinds import KINDS
from tests.soak.samples import TOLERATED_SHARE, WARM_UP, WINDOW, Growth


def page(
    accounts: Sequence[Account],
    book: Book,
    growths: Sequence[Growth],
    blows: Sequence[Blow],
    about: dict[str, Any],
    command: str,
) -> str:
    """The whole report in Markdown."""
    verdict = "everything held" if all(account.holds for account in accounts) else "NOT EVERYTHING HELD"
    lines = [
        f"# Soak: {verdict}",
        "",
        f"`{command}`, ended {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, on {about.pop('cores')} cores"
        f" ({about.pop('processor')}), load {about.pop('load')} at the end; "
        + ", ".join(f"{name} {value}" for name, value in about.items())
        + ".",
        "",
        "## Accounts",
        "",
        *(f"- {'held' if account.holds else 'BROKEN'}: {account.name}: {account.saw}" for account in accounts),
        "",
        "## Tasks by kind and end",
        "",
        "| kind | ended |",
        "|---|---|",
        *_kinds(book),
        "",
        "## What befell it",
        "",
        ", ".join(f"{count} x {what}" for what, count in sorted(_blows(blows).items())) + ".",
        "",
        "Answers: " + ", ".join(f"{count:,} x {answer}" for answer, count in sorted(book.answers.items())) + ".",
        "",
        "## Growth",
        "",
        f"The median of {WINDOW:.0%} of a process's life just after its first {WARM_UP:.0%} against that of its last"
        f" {WINDOW:.0%}. Flat is at most {TOLERATED_SHARE:.0%} more, or what is tolerated where that is little."
        " Processes that lived for less than half of the run are left out.",
        "",
        "| measure | after warm-up | at the end | allowed | highest | an hour would add |",
        "|---|---|---|---|---|---|",
        *(
            f"| {g.name} | {g.after_warm_up:.2f} | {g.at_the_end:.2f}{'' if g.flat else ' NOT FLAT'}"
            f" | {'any' if g.allowed == math.inf else f'{g.allowed:.2f}'}"
            f" | {g.highest:.2f} | {g.per_hour:+.2f} |"
            for g in growths
        ),
        "",
    ]
    return "\n".join(lines)


def _kinds(book: Book) -> list[str]:
    ends: dict[str, Counter[str]] = {name: Counter() for name in KINDS}
    for entry in book.tasks.values():
        ends[entry.kind][entry.status.value if entry.status else "open"] += 1
    return [
        f"| {name} | {', '.join(f'{count:,} {status}' for status, count in sorted(counts.items())) or 'none sent'} |"
        for name, counts in ends.items()
    ]


def _blows(blows: Sequence[Blow]) -> Counter[str]:
    return Counter(f"{blow.what} of the {blow.name}" for blow in blows if blow.what not in {"back", "SIGCONT"})
