"""Each answer of the shell client twice: as the API's JSON, and as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tasks_app.api import representation
from tasks_app.domain.operation import Operation
from tasks_app.domain.snapshot import AuditEntry, DeadLetter, DeadLetterGroup, Page, QueueInfo, WorkerInfo
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Task, TaskDetail, UnreadableTask
from tasks_app.shell.text import block, clock, facts, table
from tasks_app.store.commands import Purged, Receipt

ENDED_OTHERWISE = 3
NOT_ENDED = 4


@dataclass(frozen=True, slots=True)
class Output:
    """``json`` is what the API would answer, ``text`` the same for people, ``code`` what the command exits with."""

    json: str
    text: str
    code: int = 0


def submitted(receipt: Receipt) -> Output:
    """A task that was taken in, or had been there."""
    task = receipt.task
    note = "  (had been submitted before)" if receipt.duplicate else ""
    return Output(
        representation.task_text(task, {"duplicate": receipt.duplicate}),
        f"{task.id}  {task.status}{note}",
    )


def tasks(page: Page[Task | UnreadableTask]) -> Output:
    """A page of tasks."""
    rows = [
        (
            task.id,
            task.status,
            f"{task.attempt}/{task.max_attempts}",
            task.queue,
            task.task_type,
            clock(task.created_at),
        )
        if isinstance(task, Task)
        else (task.id, "unreadable", "", "", task.reason, "")
        for task in page.items
    ]
    text = table(("id", "status", "attempt", "queue", "type", "created"), rows)
    return _page(map(representation.summary_text, page.items), text, page.next)


def task(detail: TaskDetail) -> Output:
    """One task with its history."""
    t = detail.task
    parts = [
        facts(
            [
                ("id", t.id),
                ("type", t.task_type),
                ("queue", f"{t.queue} p{t.priority}"),
                ("status", t.status),
                ("attempt", f"{t.attempt} of {t.max_attempts}"),
                ("timeout", f"{t.timeout_ms} ms"),
                ("created", clock(t.created_at)),
                ("due", t.due_at and clock(t.due_at)),
                ("started", t.started_at and clock(t.started_at)),
                ("finished", t.finished_at and clock(t.finished_at)),
                ("expires", t.expires_at and clock(t.expires_at)),
                ("worker", t.worker_id),
                ("cancel asked", t.cancel_requested),
                ("given back", t.give_backs),
                ("requeued", t.requeues),
                ("key", t.idempotency_key),
                ("progress", None if t.progress is None else f"{t.progress:.0%} {t.progress_note or ''}"),
                ("payload", t.payload_json),
                ("metadata", t.metadata_json if t.metadata_json != "{}" else None),
                ("result", t.result_json),
                ("error", t.error_class and f"{t.error_class}: {t.error_message or ''}"),
            ]
        )
    ]
    if detail.attempts:
        rows = [
            (a.number, a.outcome, clock(a.started_at), clock(a.ended_at), a.worker_id, a.error_class)
            for a in detail.attempts
        ]
        parts.append(table(("attempt", "outcome", "started", "ended", "worker", "error"), rows))
    if detail.log:
        parts.append(
            block("log", "\n".join(f"{clock(line.at)} [{line.attempt}] {line.message}" for line in detail.log))
        )
    if t.traceback:
        parts.append(block("traceback", t.traceback))
    return Output(representation.detail_text(detail), "\n\n".join(parts))


def result(task: Task, *, waited: bool) -> Output:
    """How a task ended, or that it has not; to whoever waited for it the exit code says so as well."""
    if task.error_class:
        text = f"{task.status}  {task.error_class}: {task.error_message or ''}"
    else:
        text = task.result_json if task.result_json is not None else task.status
    code = 0
    if waited and task.status is not TaskStatus.SUCCEEDED:
        code = ENDED_OTHERWISE if task.status.is_terminal else NOT_ENDED
    return Output(representation.result_text(task), text, code)


def queues(found: Sequence[QueueInfo]) -> Output:
    """Every queue."""
    rows = [
        (q.name, q.queued, q.pending, q.retrying, q.running, q.dead_lettered, _pause(q), clock(q.oldest_at))
        for q in found
    ]
    headings = ("queue", "queued", "pending", "retrying", "running", "dead", "paused", "oldest")
    return _page(representation.encoded(map(representation.queue_body, found)), table(headings, rows), None)


def queue(found: QueueInfo) -> Output:
    """One queue after something was done to it."""
    return Output(representation.encode(representation.queue_body(found)), queues([found]).text)


def workers(found: Sequence[WorkerInfo]) -> Output:
    """The fleet."""
    rows = [
        (
            w.id,
            _worker_state(w),
            f"{w.occupied}/{w.concurrency}",
            w.processed,
            w.failed,
            ",".join(w.queues) or "all",
            clock(w.seen_at),
        )
        for w in found
    ]
    headings = ("worker", "state", "slots", "done", "failed", "queues", "seen")
    return _page(representation.encoded(map(representation.worker_body, found)), table(headings, rows), None)


def dead_letters(page: Page[DeadLetter]) -> Output:
    """A page of dead letters."""
    rows = [
        (d.task_id, d.queue, d.task_type, d.attempts, clock(d.failed_at), f"{d.error_class}: {d.error_message}"[:100])
        for d in page.items
    ]
    text = table(("id", "queue", "type", "attempts", "failed", "error"), rows)
    return _page(representation.encoded(map(representation.dead_letter_body, page.items)), text, page.next)


def dead_letter_groups(groups: Sequence[DeadLetterGroup]) -> Output:
    """Dead letters by what they have in common."""
    rows = [
        (g.count, g.task_type, clock(g.last_seen), g.fingerprint, f"{g.error_class}: {g.error_message}"[:100])
        for g in groups
    ]
    text = table(("count", "type", "last", "fingerprint", "error"), rows)
    return _page(representation.encoded(map(representation.dead_letter_group_body, groups)), text, None)


def operations(page: Page[Operation], *, leader: bool) -> Output:
    """A page of operations; ``leader``: whether a scheduler leads."""
    rows = [
        (o.id, o.action, _chosen(o), _stands(o, leader), _share(o), o.done, o.skips, clock(o.created_at))
        for o in page.items
    ]
    text = table(("id", "action", "filter", "state", "looked", "done", "skipped", "asked"), rows)
    bodies = (representation.operation_body(item, leader=leader) for item in page.items)
    return _page(representation.encoded(bodies), text, page.next)


def operation(found: Operation, *, leader: bool) -> Output:
    """One operation."""
    text = facts(
        [
            ("id", found.id),
            ("action", found.action),
            ("filter", _chosen(found)),
            ("state", _stands(found, leader)),
            ("looked at", _share(found)),
            ("done", found.done),
            ("told to stop", found.told),
            ("skipped", ", ".join(f"{count} {reason}" for reason, count in found.skipped.items())),
            ("asked", f"{clock(found.created_at)} by {found.actor}"),
            ("ended", found.ended_at and f"{clock(found.ended_at)} by {found.ended_by}"),
            ("failed again", found.failed and f"{found.failed} of {len(found.trying)}"),
        ]
    )
    return Output(representation.encode(representation.operation_body(found, leader=leader)), text)


def audit(page: Page[AuditEntry]) -> Output:
    """A page of the audit."""
    rows = [
        (clock(e.at), e.actor, e.source, e.action, f"task:{e.task_id}" if e.task_id else e.target, e.detail)
        for e in page.items
    ]
    text = table(("at", "actor", "from", "action", "target", "detail"), rows)
    return _page(representation.encoded(map(representation.audit_body, page.items)), text, page.next)


def purged(step: Purged) -> Output:
    """How far a purge came."""
    return Output(
        representation.encode({"done": step.done, "remaining": step.remaining}),
        f"{step.done} done, {step.remaining} remaining",
    )


def acted(task_id: str, outcome: str) -> Output:
    """One task after one action."""
    return Output(representation.encode({"id": task_id, "outcome": outcome}), f"{task_id}  {outcome}")


def _page(texts: Iterable[str], text: str, following: str | None) -> Output:
    more = f"\nmore: --cursor {following}" if following else ""
    return Output(representation.listing(texts, following), text + more)


def _worker_state(worker: WorkerInfo) -> str:
    if worker.told is None:
        return worker.state
    return f"{worker.state} (told: {worker.told.wish} by {worker.told.by})"


def _chosen(operation: Operation) -> str:
    return operation.selection.words or "all"


def _stands(operation: Operation, leader: bool) -> str:
    if not operation.runs:
        return operation.state
    if not leader:
        return f"{operation.state}, waits for a scheduler"
    return f"{operation.state}, trying {len(operation.trying)}" if operation.trying else operation.state


def _share(operation: Operation) -> str:
    return f"{operation.looked}/{operation.reckoning.total}"


def _pause(queue: QueueInfo) -> str:
    if queue.pause is None:
        return ""
    until = f" until {clock(queue.pause.until)}" if queue.pause.until else ""
    return f"by {queue.pause.by}{until}"
