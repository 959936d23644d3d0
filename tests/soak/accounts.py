"""The end of a soak: what must balance, and what must not have grown. Each account says what it saw."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import redis

from tasks_app.domain.status import TaskStatus
from tasks_app.store.keys import Keys
from tasks_app.store.queries import Queries
from tests.soak.book import Book
from tests.soak.kinds import KINDS
from tests.soak.ledger import Reasons, Run
from tests.support import invariants
from tests.support.keyspace import documented

EARLY_S = 0.005
"""Times in Redis are whole milliseconds, so a task may start up to one before its due time."""
TASKS_OWN = {"dtq:idempotency:<queue>:<key>", "dtq:cancelled"}
"""What belongs to tasks although it has a TTL of its own."""
INSTALLATIONS = {"dtq:workers", "dtq:stream:dead-letter"}
"""What is there as long as workers run, or once somebody has died: the workers' list, an empty stream."""
MOST_LINES_A_MINUTE = 60


@dataclass(frozen=True)
class Account:
    """One thing that had to hold. ``saw`` is what was seen, also when it held."""

    name: str
    holds: bool
    saw: str


def every_task_ended(book: Book) -> Account:
    """Accepted is ended: nothing open, nothing vanished, nothing in a way that its kind does not allow."""
    wrong = [
        f"{task_id} ({entry.kind}) {entry.status}"
        for task_id, entry in book.tasks.items()
        if entry.status is not None and entry.status not in KINDS[entry.kind].ends
    ]
    bad = [*book.vanished, *wrong]
    saw = f"{len(book.tasks):,} accepted, {len(book.tasks) - book.open:,} ended, {book.open} open"
    saw += f", {len(book.vanished)} vanished, {len(wrong)} ended in a way that is not theirs"
    return Account("every accepted task ended in one allowed way", not bad and not book.open, saw_with(saw, bad))


def answers_agree(book: Book) -> Account:
    """No two tasks for one key, no refusal that should not be."""
    saw = f"{sum(1 for e in book.tasks.values() if KINDS[e.kind].keyed):,} keys, each sent three times at once"
    saw += f"; {book.found + book.not_stored} submissions without an answer: {book.found} stored, {book.not_stored} not"
    return Account(
        "one task per idempotency key, no answer that must not be", not book.disputed, saw_with(saw, book.disputed)
    )


def effects(book: Book, runs: dict[str, list[Run]]) -> Account:
    """What succeeded has run to its end, what may not run has not, nothing began before it was due."""
    bad = []
    for task_id, entry in book.tasks.items():
        mine = runs.get(task_id, [])
        if entry.status is TaskStatus.SUCCEEDED and not any(run.end == "done" for run in mine):
            bad.append(f"{task_id} ({entry.kind}) succeeded without an effect")
        if mine and (not KINDS[entry.kind].runs or entry.status is TaskStatus.EXPIRED):
            bad.append(f"{task_id} ({entry.kind}) {entry.status} has run")
        if mine and mine[0].at < entry.at_least - EARLY_S:
            bad.append(f"{task_id} ({entry.kind}) began {entry.at_least - mine[0].at:.3f} s early")
    strangers = set(runs) - set(book.tasks)
    bad += [f"{task_id} ran and was never accepted" for task_id in strangers]
    saw = f"{sum(map(len, runs.values())):,} runs of {len(runs):,} tasks"
    return Account(
        "effects: at least one per success, none before its time, none of a stranger", not bad, saw_with(saw, bad)
    )


def duplicates(book: Book, runs: dict[str, list[Run]], reasons: Reasons) -> Account:
    """Every run after another of the same task has its reason."""
    why: Counter[str] = Counter()
    bad = []
    for task_id, mine in runs.items():
        entry = book.tasks.get(task_id)
        for run, following in itertools.pairwise(mine):
            reason = reasons.why(run, following, requeued=bool(entry and entry.requeues))
            why[reason] += 1
            if not reason:
                bad.append(f"{task_id} attempt {run.attempt} ({run.end or 'cut off'}) then {following.attempt}")
    finished_twice = sum(sum(run.end == "done" for run in mine) > 1 for mine in runs.values())
    saw = "; ".join(f"{count:,} because {reason}" for reason, count in sorted(why.items()) if reason) or "none"
    return Account(
        "runs beyond the first only with a reason",
        not bad,
        saw_with(f"{saw}; {finished_twice} came to their end twice", bad),
    )


def own_figures(book: Book, queries: Queries) -> Account:
    """dtq's own statistics say the same as the book."""
    points = queries.series("1h").points
    own = {
        "submitted": sum(p.submitted for p in points),
        "succeeded": sum(p.succeeded for p in points),
        "failed": sum(p.failed for p in points),
        "cancelled": sum(p.cancelled for p in points),
        "expired": sum(p.expired for p in points),
    }
    ends = Counter(entry.status for entry in book.tasks.values())
    ours = {
        "submitted": len(book.tasks),
        "succeeded": ends[TaskStatus.SUCCEEDED],
        "failed": ends[TaskStatus.DEAD_LETTERED] + sum(entry.requeues for entry in book.tasks.values()),
        "cancelled": ends[TaskStatus.CANCELLED],
        "expired": ends[TaskStatus.EXPIRED],
    }
    saw = ", ".join(f"{name} {count:,}" for name, count in own.items())
    return Account(
        "dtq's statistics equal the book", own == ours, saw if own == ours else f"{saw}; the book says {ours}"
    )


def keys_left(client: redis.Redis, keys: Keys) -> tuple[list[str], str]:
    """What is left that should not be, and in words what is left."""
    rows = documented()
    bad: list[str] = []
    counts: Counter[str] = Counter()
    for raw in client.scan_iter(count=1000):
        name = raw.decode()
        row = next((row for row in rows if row.matches(name)), None)
        stays = row and (row.ends.startswith(("TTL", "kept", "capped")) or row.name in INSTALLATIONS)
        if row is None or not stays or row.name in TASKS_OWN:
            bad.append(name)
            continue
        counts[f"{row.name} ({row.ends})"] += 1
        if name.startswith(keys.stream("", 0)[:-3]) and name != keys.audit and (entries := client.xlen(name)):
            bad.append(f"{name} has {entries} entries")
    return bad, "; ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def queue_is_consistent(client: redis.Redis, keys: Keys) -> Account:
    """The invariants of the test suite hold in the quiet installation."""
    try:
        invariants.check(client, keys)
    except AssertionError as error:
        return Account("the store's invariants hold", False, str(error)[:2000])
    return Account("the store's invariants hold", True, "indexes, streams, leases and counts agree")


def logs_are_calm(logs: dict[str, list[Path]], ran_s: float) -> list[Account]:
    """No line of level ERROR, no line that is no JSON, and a bounded number of lines."""
    errors: Counter[str] = Counter()
    events: Counter[str] = Counter()
    rates = {}
    for name, paths in logs.items():
        lines = [line for path in paths for line in path.read_text(errors="replace").splitlines()]
        rates[name] = len(lines) / ran_s * 60
        for line in lines:
            try:
                said = json.loads(line)
            except ValueError:
                errors[f"{name}: no JSON: {line[:150]}"] += 1
                continue
            events[f"{said.get('level')} {said.get('event')}"[:80]] += 1
            if said.get("level") in {"error", "critical"}:
                errors[f"{name}: {line[:600]}"] += 1
    busiest = max(rates.values())
    return [
        Account("no line of level ERROR in any log", not errors, saw_with(f"{len(errors)} kinds", list(errors))),
        Account(
            f"at most {MOST_LINES_A_MINUTE} lines a minute and process",
            busiest <= MOST_LINES_A_MINUTE,
            "; ".join(f"{name} {rate:.1f}" for name, rate in rates.items())
            + " a minute. Most often: "
            + ", ".join(f"{event} {count}" for event, count in events.most_common(8)),
        ),
    ]


def saw_with(saw: str, bad: list[str]) -> str:
    """What was seen, and the first ten of what should not have been."""
    if not bad:
        return saw
    return "\n    ".join([saw, *bad[:10], *([f"and {len(bad) - 10} more"] if len(bad) > 10 else [])])
