"""Writes the documents that follow from the code. ``python -m tests.architecture.documents --write`` or ``--check``."""

from __future__ import annotations

import sys
from pathlib import Path

from tasks_app.domain.status import TaskStatus
from tasks_app.domain.transitions import ALLOWED_IN, REQUEUEABLE, VALID_TRANSITIONS

ROOT = Path(__file__).resolve().parents[2]
STATE_MACHINE = ROOT / "docs" / "state-machine.md"

MEANINGS = {
    TaskStatus.PENDING: "accepted, waits in the schedule for its first due time",
    TaskStatus.QUEUED: "has an entry in a stream, any worker may claim it",
    TaskStatus.RUNNING: "a worker holds its lease",
    TaskStatus.RETRYING: "an attempt failed; waits in the schedule for the next one",
    TaskStatus.SUCCEEDED: "the handler returned, the result is stored",
    TaskStatus.FAILED: "ended by its own failures while dead letters are switched off",
    TaskStatus.DEAD_LETTERED: "ended by its own failures; an operator may bring it back",
    TaskStatus.CANCELLED: "ended by an operator or a client",
    TaskStatus.EXPIRED: "its time to live ran out before it started",
}
MOVERS = {
    ("pending", "queued"): "scheduler, or an operator's *run now*",
    ("pending", "cancelled"): "cancel",
    ("pending", "expired"): "scheduler, when the TTL has run out",
    ("queued", "running"): "claim",
    ("queued", "cancelled"): "cancel, purge of a queue",
    ("queued", "expired"): "claim, when the TTL has run out",
    ("running", "succeeded"): "finish",
    ("running", "retrying"): "finish, after a retryable failure with attempts left",
    ("running", "failed"): "finish or reclaim, with dead letters off",
    ("running", "dead_lettered"): "finish or reclaim, with dead letters on",
    ("running", "cancelled"): "finish or reclaim, after a cancel request",
    ("retrying", "queued"): "scheduler (attempt + 1), or an operator's *run now*",
    ("retrying", "cancelled"): "cancel",
}


def state_machine() -> str:
    """The text of ``docs/state-machine.md``."""
    moves = [(current, target) for current in TaskStatus for target in TaskStatus if (current, target) in MOVERS]
    missing = {(current, target) for current, targets in VALID_TRANSITIONS.items() for target in targets} ^ set(MOVERS)
    if missing:
        raise AssertionError(f"MOVERS and VALID_TRANSITIONS disagree on {missing}")
    revived = " and ".join(f"`{status}`" for status in TaskStatus if status in REQUEUEABLE)
    lines = [
        "# State machine",
        "",
        "Generated from `tasks_app/domain/transitions.py`; `make check` says when it is out of date, and",
        "`python -m tests.architecture.documents --write` writes it anew.",
        "",
        "```mermaid",
        "stateDiagram-v2",
        "    [*] --> pending: submit with a delay",
        "    [*] --> queued: submit",
        *(f"    {current} --> {target}" for current, target in moves),
        *(f"    {status} --> queued: dlq_requeue" for status in TaskStatus if status in REQUEUEABLE),
        *(f"    {status} --> [*]" for status in TaskStatus if status.is_terminal and status not in REQUEUEABLE),
        "```",
        "",
        "| status | terminal | meaning |",
        "|---|---|---|",
        *(f"| `{s}` | {'yes' if s.is_terminal else 'no'} | {MEANINGS[s]} |" for s in TaskStatus),
        "",
        "| from | to | moved by |",
        "|---|---|---|",
        *(f"| `{current}` | `{target}` | {MOVERS[current, target]} |" for current, target in moves),
        "",
        "Nothing else is a move. A retrying task whose time to live has run out goes `retrying -> queued -> expired`",
        "in one script, without a stream entry. The one way back out of a terminal status is `dlq_requeue`, an",
        f"operator's act outside the table: {revived} become `queued` at attempt 1.",
        "",
        "| action | allowed in |",
        "|---|---|",
        *(
            f"| {action} | {', '.join(f'`{s}`' for s in TaskStatus if s in statuses)} |"
            for action, statuses in ALLOWED_IN.items()
        ),
        "",
    ]
    return "\n".join(lines)


DOCUMENTS = {STATE_MACHINE: state_machine}


def main(arguments: list[str]) -> int:
    """Write the documents, or say which ones are out of date; the exit code is their number."""
    if arguments not in (["--write"], ["--check"]):
        print("usage: python -m tests.architecture.documents --write|--check", file=sys.stderr)
        return 2
    stale = 0
    for path, generate in DOCUMENTS.items():
        if arguments == ["--write"]:
            path.write_text(generate(), encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != generate():
            print(f"{path.relative_to(ROOT)} is out of date", file=sys.stderr)
            stale += 1
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
