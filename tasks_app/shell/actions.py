"""What each word of ``manage.py tasks`` does.

Every function takes the parsed arguments and yields its outputs; where several tasks were named, also the refusals, so
that one task's does not keep the others waiting.
"""

from __future__ import annotations

import getpass
import socket
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tasks_app import runtime
from tasks_app.api.selecting import to_selection
from tasks_app.api.submitting import to_submission
from tasks_app.api.times import MOMENT_RULE, parse_moment
from tasks_app.api.waiting import task_at_its_end
from tasks_app.domain import strict_json
from tasks_app.domain.errors import DtqError, StoreUnavailable, ValidationError
from tasks_app.domain.snapshot import Actor, TaskFilter
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.wish import Wish
from tasks_app.shell import output
from tasks_app.shell.output import Output
from tasks_app.store.commands import MAX_BATCH, Purged
from tasks_app.store.purging import purge_steps

Outputs = Iterator[Output | DtqError]

_SUBMIT_WORDS = {
    "task_type": "TYPE",
    "payload": "JSON",
    "queue": "--queue",
    "priority": "--priority",
    "max_attempts": "--max-attempts",
    "timeout_ms": "--timeout-ms",
    "delay_seconds": "--delay",
    "run_at": "--run-at",
    "idempotency_key": "--key",
    "metadata": "--metadata",
}
_FILTER_WORDS = {
    "status": "--status",
    "queue": "--queue",
    "task_type": "--type",
    "worker_id": "--worker",
    "fingerprint": "--fingerprint",
    "created_after": "--after",
    "created_before": "--before",
    "careful": "--careful",
}


def actor() -> Actor:
    """Whoever runs the shell, for the audit."""
    return Actor(name=f"cli:{getpass.getuser()}", source=socket.gethostname())


def submit(args: Namespace) -> Outputs:
    """Submit one task and, with ``--wait``, wait for its end."""
    raw: dict[str, Any] = {
        "task_type": args.task_type,
        "payload": strict_json.loads(_payload(args.payload)),
        "queue": args.queue,
        "priority": args.priority,
        "max_attempts": args.max_attempts,
        "timeout_ms": args.timeout_ms,
        "delay_seconds": args.delay,
        "run_at": args.run_at,
        "idempotency_key": args.key,
        "metadata": strict_json.loads(args.metadata),
    }
    with _in_words(_SUBMIT_WORDS):
        receipt = runtime.commands().submit(to_submission(raw))
    if args.wait is None:
        yield output.submitted(receipt)
    else:
        yield output.result(task_at_its_end(receipt.task.id, args.wait, limited=False), waited=True)


def list_tasks(args: Namespace) -> Outputs:
    """A page of tasks, newest first."""
    where = TaskFilter(
        status=None if args.status is None else TaskStatus(args.status),
        queue=args.queue,
        task_type=args.type,
        worker_id=args.worker,
        q=args.q,
        created_after=_moment("--after", args.after),
        created_before=_moment("--before", args.before),
    )
    yield output.tasks(runtime.queries().tasks(where, args.cursor, args.limit))


def show(args: Namespace) -> Outputs:
    """One task with its history."""
    yield output.task(runtime.queries().detail(args.id))


def result(args: Namespace) -> Outputs:
    """How a task ended; waits for it with ``--wait``."""
    yield output.result(task_at_its_end(args.id, args.wait or 0, limited=False), waited=args.wait is not None)


def cancel(args: Namespace) -> Outputs:
    """Cancel tasks."""
    return _each(args, runtime.commands().cancel, "cancelled")


def requeue(args: Namespace) -> Outputs:
    """Revive dead-lettered or failed tasks: those that are named, or with ``--fingerprint`` all that died alike."""
    if bool(args.ids) == bool(args.fingerprint):
        raise ValidationError({"requeue": ["wants either ids or --fingerprint"]})
    return _each(args, runtime.commands().dlq_requeue, "queued") if args.ids else _requeue_alike(args.fingerprint)


def _requeue_alike(fingerprint: str) -> Outputs:
    """Page by page; what is refused stays dead and is passed by."""
    who, cursor = actor(), None
    while True:
        page = runtime.queries().dead_letters(cursor, MAX_BATCH, fingerprint)
        ids = [letter.task_id for letter in page.items]
        for task_id, refusal in runtime.commands().requeue_many(ids, who).items() if ids else ():
            yield refusal or output.acted(task_id, "queued")
        cursor = page.next
        if cursor is None:
            return


def run_now(args: Namespace) -> Outputs:
    """Make pending or retrying tasks due."""
    return _each(args, runtime.commands().run_now, "queued")


def discard(args: Namespace) -> Outputs:
    """Remove the records of dead-lettered, failed or unreadable tasks."""
    return _each(args, runtime.commands().discard, "discarded")


def queues(args: Namespace) -> Outputs:
    """Every queue."""
    yield output.queues(runtime.queries().queues())


def pause(args: Namespace) -> Outputs:
    """Let no task of a queue start."""
    runtime.commands().pause(args.queue, actor(), args.reason, _moment("--until", args.until))
    yield output.queue(runtime.queries().queue(args.queue))


def resume(args: Namespace) -> Outputs:
    """Let a queue's tasks start again."""
    runtime.commands().resume(args.queue, actor())
    yield output.queue(runtime.queries().queue(args.queue))


def purge(args: Namespace) -> Outputs:
    """Cancel a queue's waiting and scheduled tasks."""
    who = actor()
    yield _purged(lambda: runtime.commands().purge_queue(args.queue, who))


def dlq(args: Namespace) -> Outputs:
    """Dead letters: a page, the groups, or away with all of them."""
    if args.purge:
        who = actor()
        yield _purged(lambda: runtime.commands().purge_dlq(who))
    elif args.groups:
        yield output.dead_letter_groups(runtime.queries().dead_letter_groups())
    else:
        yield output.dead_letters(runtime.queries().dead_letters(args.cursor, args.limit, args.fingerprint))


def operations(args: Namespace) -> Outputs:
    """Operations, newest first."""
    page = runtime.operations().page(args.cursor, args.limit)
    yield output.operations(page, leader=runtime.queries().leader() is not None)


def begin(args: Namespace) -> Outputs:
    """Requeue, cancel or discard all tasks that match a filter; the scheduler works it off."""
    given = {
        "status": args.status,
        "queue": args.queue,
        "task_type": args.type,
        "worker_id": args.worker,
        "fingerprint": args.fingerprint,
        "created_after": args.after,
        "created_before": args.before,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    if bool(chosen) == args.all:
        raise ValidationError({"begin": ["wants either a filter or --all"]})
    with _in_words(_FILTER_WORDS):
        action, selection, careful = to_selection({"action": args.action, "filter": chosen, "careful": args.careful})
        begun = runtime.operations().begin(action, selection, actor(), careful=careful)
    yield _operation(begun.id)


def show_operation(args: Namespace) -> Outputs:
    """One operation: how far it is, and what became of the tasks."""
    yield _operation(args.id)


def abort(args: Namespace) -> Outputs:
    """End an operation where it is; what it has done stays done."""
    runtime.operations().abort(args.id, actor())
    yield _operation(args.id)


def workers(args: Namespace) -> Outputs:
    """The fleet; or tell workers to be ``quiet``, to ``resume`` or to ``stop``."""
    if args.wish is None:
        yield output.workers(runtime.queries().workers())
        return
    if not args.ids:
        raise ValidationError({args.wish: ["wants the ids of workers"]})
    wish = Wish(args.wish)
    yield from _each(args, lambda worker_id, who: runtime.wishes().tell(worker_id, wish, who), f"told: {wish}")


def audit(args: Namespace) -> Outputs:
    """Who did what, newest first."""
    yield output.audit(runtime.queries().audit(args.cursor, args.limit, args.task))


def _each(args: Namespace, act: Callable[[str, Actor], object], outcome: str) -> Outputs:
    who = actor()
    for task_id in args.ids:
        try:
            act(task_id, who)
        except StoreUnavailable:
            raise
        except DtqError as refusal:
            yield refusal
        else:
            yield output.acted(task_id, outcome)


def _operation(operation_id: str) -> Output:
    return output.operation(runtime.operations().get(operation_id), leader=runtime.queries().leader() is not None)


def _purged(step: Callable[[], Purged]) -> Output:
    *_, purged = purge_steps(step)
    return output.purged(purged)


@contextmanager
def _in_words(words: Mapping[str, str]) -> Iterator[None]:
    """Names what was typed where a rule of the API names a field. Raises ValidationError."""
    try:
        yield
    except ValidationError as error:
        fields = {name.removeprefix("filter."): rules for name, rules in error.fields.items()}
        raise ValidationError({words.get(name, name): rules for name, rules in fields.items()}) from error


def _payload(argument: str) -> str | bytes:
    if argument == "-":
        return sys.stdin.buffer.read()
    return Path(argument[1:]).read_bytes() if argument.startswith("@") else argument


def _moment(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    ms = parse_moment(text)
    if ms is None:
        raise ValidationError({option: [MOMENT_RULE]})
    return ms
