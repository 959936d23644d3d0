"""A task as a row, its buttons and its story. Which actions apply is the state machine's to say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.urls import NoReverseMatch, reverse

from tasks_app.conf import redaction
from tasks_app.console.presenters.statuses import GONE, UNREADABLE, Look, look_of
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Task, UnreadableTask
from tasks_app.domain.transitions import Action, allows

ERROR_CHARS = 200


@dataclass(frozen=True, slots=True)
class ActionLook:
    """A button: its word, icon, whether it destroys, and what to say while it does not apply."""

    word: str
    icon: str
    danger: bool
    where: str


ACTION_LOOKS: dict[Action, ActionLook] = {
    Action.CANCEL: ActionLook("Cancel", "ban", True, "Only tasks that have not ended can be cancelled"),
    Action.REQUEUE: ActionLook("Requeue", "retry", False, "Only dead-lettered and failed tasks can be requeued"),
    Action.RUN_NOW: ActionLook("Run now", "skip", False, "Only scheduled and retrying tasks can be brought forward"),
    Action.DISCARD: ActionLook("Discard", "trash", True, "Only dead-lettered and failed tasks can be discarded"),
}


@dataclass(frozen=True, slots=True)
class Button:
    """An action of one task. ``reason`` says why it is disabled; empty when it can be pressed."""

    action: Action
    look: ActionLook
    url: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a list of tasks. ``here`` is false once the task has left the filter; ``allows`` names its actions."""

    id: str
    url: str
    look: Look
    task: Task | None = None
    reason: str = ""
    here: bool = True
    kind: str = "ago"
    at: int | None = None
    error: str = ""
    buttons: Sequence[Button] = field(default_factory=tuple)

    @property
    def allows(self) -> str:
        """The names of the actions that apply, for the bar of bulk actions."""
        return " ".join(button.action for button in self.buttons)


def task_url(task_id: str) -> str:
    """A task's page; empty for what somebody planted and no address can hold."""
    try:
        return reverse("console:task", args=[task_id])
    except NoReverseMatch:
        return ""


def buttons(task: Task | UnreadableTask, *, operator: bool) -> list[Button]:
    """All four actions in their fixed order, each with the reason why it cannot be pressed; none for viewers."""
    found: list[Button] = []
    if not operator:
        return found
    url = task_url(task.id)
    for action, look in ACTION_LOOKS.items():
        if isinstance(task, UnreadableTask):
            reason = "" if action is Action.DISCARD else "The record cannot be read; it can only be discarded"
        elif action is Action.CANCEL and task.cancel_requested and not task.status.is_terminal:
            reason = "Already cancelling: its worker was told"
        else:
            reason = "" if allows(task.status, action) else look.where
        # Actions are paths below the task's page; four look-ups a row would be most of a list's cost.
        found.append(Button(action, look, f"{url}{action}/", reason))
    return found


def bulk_actions(actions: Iterable[Action], *, operator: bool) -> list[tuple[Action, ActionLook]]:
    """The buttons of the bar for ticked rows; none for viewers."""
    return [(action, ACTION_LOOKS[action]) for action in actions if operator]


def row(task: Task | UnreadableTask, *, operator: bool, here: bool = True) -> Row:
    """A task as a list shows it, with the actions that apply to it now."""
    usable = [button for button in buttons(task, operator=operator) if not button.reason]
    url = task_url(task.id)
    if isinstance(task, UnreadableTask):
        return Row(task.id, url, UNREADABLE, reason=task.reason, here=here, buttons=usable)
    at, kind = _telling_time(task)
    return Row(
        id=task.id,
        url=url,
        look=look_of(task.status, cancel_requested=task.cancel_requested),
        task=task,
        here=here,
        at=at,
        kind=kind,
        error=error_line(task.error_class, task.error_message),
        buttons=usable,
    )


def gone_row(task_id: str) -> Row:
    """A row whose task was removed while it was on the screen."""
    return Row(task_id, task_url(task_id), GONE, here=False)


def error_line(error_class: str | None, message: str | None) -> str:
    """An error in one short line, secrets masked; empty when there is none."""
    if not error_class:
        return ""
    text = " ".join(redaction().text(message or "").split())
    line = f"{error_class}: {text}" if text else error_class
    return line if len(line) <= ERROR_CHARS else line[: ERROR_CHARS - 1] + "…"


def _telling_time(task: Task) -> tuple[int | None, str]:
    """The moment that matters most in each status, and how it ticks."""
    match task.status:
        case TaskStatus.PENDING | TaskStatus.RETRYING:
            return task.due_at, "until"
        case TaskStatus.RUNNING:
            return task.started_at, "for"
        case TaskStatus.QUEUED:
            return task.enqueued_at or task.created_at, "ago"
        case _:
            return task.finished_at or task.created_at, "ago"
