"""Actions on tasks: one, or those that were ticked."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from django.http import HttpRequest, HttpResponse

from tasks_app.console.access import actor_of
from tasks_app.console.actions.answers import Said, answer, ask, failed
from tasks_app.console.actions.guarded import action as guarded
from tasks_app.console.doors import View
from tasks_app.console.presenters.statuses import STATUS_LOOKS
from tasks_app.console.presenters.tasks import ACTION_LOOKS
from tasks_app.domain.errors import CancelRequested, DtqError, NotFound, StoreUnavailable, TaskFinished
from tasks_app.domain.roles import Right
from tasks_app.domain.snapshot import Actor
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Task, UnreadableTask
from tasks_app.domain.transitions import DESTROYS, Action, allows
from tasks_app.runtime import commands, queries
from tasks_app.store.commands import MAX_BATCH

ASK_ABOVE = 10
MAX_IDS = 5000
MAX_TRIED = 100

DONE_WORDS = {
    Action.CANCEL: "cancelled",
    Action.REQUEUE: "requeued",
    Action.RUN_NOW: "brought forward",
    Action.DISCARD: "discarded",
}


def act_on_task(action: Action) -> View:
    """The view of one action on one task: 202, or the API's status with a sentence."""

    @guarded(Right.OPERATE, destroys=action in DESTROYS)
    def view(request: HttpRequest, task_id: str) -> HttpResponse:
        one: dict[Action, Callable[[str, Actor], None]] = {
            Action.CANCEL: commands().cancel,
            Action.REQUEUE: commands().dlq_requeue,
            Action.RUN_NOW: commands().run_now,
            Action.DISCARD: commands().discard,
        }
        try:
            one[action](task_id, actor_of(request))
        except DtqError as error:
            return answer(request, failed(error, _sentence(error)))
        return answer(request, Said(f"Task {task_id[-12:]} {DONE_WORDS[action]}."))

    return view


@guarded(Right.OPERATE, destroys=lambda request: request.POST.get("action") in DESTROYS)
def bulk(request: HttpRequest) -> HttpResponse:
    """One action on the ticked tasks, in one request. More than ten are confirmed first, with a fresh count.

    Form: ``action``, ``ids`` (any number of them, each one or more, comma-separated; at most 5,000 in all),
    ``confirmed`` after the question.
    """
    try:
        action = Action(request.POST.get("action", ""))
    except ValueError:
        return answer(request, Said("That is not an action.", "red", 400))
    ids = list(dict.fromkeys(filter(None, ",".join(request.POST.getlist("ids")).split(","))))
    if not ids:
        return answer(request, Said("Nothing is selected.", "amber", 400))
    if len(ids) > MAX_IDS:
        return answer(request, Said(f"At most {MAX_IDS:,} tasks at once; {len(ids):,} were sent.", "red", 400))
    return _act(request, action, ids)


@guarded(Right.OPERATE)
def try_kind(request: HttpRequest) -> HttpResponse:
    """Requeue the newest dead letters of a kind. Form: ``kind`` (a fingerprint), ``count`` (1 to 100)."""
    kind, count = request.POST.get("kind", ""), request.POST.get("count", "")
    if not kind or count not in map(str, range(1, MAX_TRIED + 1)):
        return answer(request, Said(f"Requeue between 1 and {MAX_TRIED} letters of a kind.", "red", 400))
    try:
        letters = queries().dead_letters(limit=int(count), fingerprint=kind).items
    except DtqError as error:
        return answer(request, failed(error))
    ids = [letter.task_id for letter in letters if letter.task_id]
    if not ids:
        return answer(request, Said("None of this kind is left.", "amber", 404))
    return _act(request, Action.REQUEUE, ids)


def _act(request: HttpRequest, action: Action, ids: Sequence[str]) -> HttpResponse:
    try:
        if len(ids) > ASK_ABOVE and not request.POST.get("confirmed"):
            return ask(request, "components/confirm.html", _question(action, ids))
        outcomes = _run(action, ids, actor_of(request))
    except DtqError as error:
        return answer(request, failed(error))
    return answer(request, _report(action, outcomes))


def _run(action: Action, ids: Sequence[str], actor: Actor) -> dict[str, DtqError | None]:
    """Step by step, so that no script call touches more than its share; an outage keeps what was done."""
    many = {
        Action.CANCEL: commands().cancel_many,
        Action.REQUEUE: commands().requeue_many,
        Action.RUN_NOW: commands().run_now_many,
        Action.DISCARD: commands().discard_many,
    }[action]
    outcomes: dict[str, DtqError | None] = {}
    for batch in _batches(ids):
        try:
            outcomes |= many(batch, actor)
        except StoreUnavailable as error:
            if not outcomes:
                raise
            return outcomes | dict.fromkeys(set(ids) - outcomes.keys(), error)
    return outcomes


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), MAX_BATCH):
        yield ids[start : start + MAX_BATCH]


def _question(action: Action, ids: Sequence[str]) -> dict[str, object]:
    found: list[Task | UnreadableTask] = [task for batch in _batches(ids) for task in queries().rows(batch)]
    able = [task for task in found if _applies(task, action)]
    statuses = Counter(task.status for task in found if isinstance(task, Task))
    return {
        "key": secrets.token_hex(8),
        "action": action,
        "look": ACTION_LOOKS[action],
        "ids": ",".join(ids),
        "chosen": len(ids),
        "able": len(able),
        "gone": len(ids) - len(found),
        "statuses": [(STATUS_LOOKS[status], count) for status, count in statuses.most_common()],
        "samples": [task for task in able if isinstance(task, Task)][:5],
    }


def _applies(task: Task | UnreadableTask, action: Action) -> bool:
    return action is Action.DISCARD if isinstance(task, UnreadableTask) else allows(task.status, action)


def _report(action: Action, outcomes: dict[str, DtqError | None]) -> Said:
    done = sum(error is None for error in outcomes.values())
    stopping = sum(isinstance(error, CancelRequested) for error in outcomes.values())
    skipped = Counter(
        _why(error)
        for error in outcomes.values()
        if error is not None and not isinstance(error, CancelRequested | StoreUnavailable)
    )
    lost = sum(isinstance(error, StoreUnavailable) for error in outcomes.values())
    parts = [f"{done:,} {DONE_WORDS[action]}"]
    if stopping:
        parts.append(f"{stopping:,} running told to stop")
    parts += [f"{count:,} skipped ({why})" for why, count in skipped.most_common(4)]
    if lost:
        parts.append(f"{lost:,} not reached, Redis went away")
    tone = "red" if lost else "amber" if skipped else "green"
    return Said("; ".join(parts) + ".", tone, 503 if lost else 200)


def _why(error: DtqError) -> str:
    status = error.details.get("status")
    if isinstance(error, NotFound):
        return "gone"
    return f"was {_word(str(status))}" if status else error.message.lower()


def _sentence(error: DtqError) -> str:
    if isinstance(error, CancelRequested):
        return "Cancelling: the task is running and its worker was told to stop it."
    if isinstance(error, TaskFinished):
        return f"Too late: the task had ended, {_word(str(error.details.get('status', '')))}."
    if isinstance(error, NotFound):
        return "Gone: there is no such task any more."
    return ""


def _word(status: str) -> str:
    try:
        return STATUS_LOOKS[TaskStatus(status)].word
    except ValueError:
        return status
