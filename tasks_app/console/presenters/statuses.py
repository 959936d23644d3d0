"""How a status looks, once for every page: its word, icon, tone and meaning."""

from __future__ import annotations

from dataclasses import dataclass

from tasks_app.domain.status import TaskStatus


@dataclass(frozen=True, slots=True)
class Look:
    """``icon`` is a symbol of ``static/icons.svg``, ``tone`` a ``tone-*`` class of the style sheet."""

    word: str
    icon: str
    tone: str
    meaning: str


STATUS_LOOKS: dict[TaskStatus, Look] = {
    TaskStatus.PENDING: Look("scheduled", "calendar", "slate", "Waits for its due time; not in a stream yet"),
    TaskStatus.QUEUED: Look("queued", "line-up", "slate", "In its queue's stream, next free worker takes it"),
    TaskStatus.RUNNING: Look("running", "play", "blue", "A worker executes it"),
    TaskStatus.RETRYING: Look("retrying", "retry", "amber", "An attempt failed; waits for the next one"),
    TaskStatus.SUCCEEDED: Look("succeeded", "check", "green", "Done, its result is stored"),
    TaskStatus.FAILED: Look("failed", "cross", "red", "Ended by its own failures, dead letters are off"),
    TaskStatus.DEAD_LETTERED: Look("dead letter", "skull", "crimson", "Attempts used up or a permanent failure"),
    TaskStatus.CANCELLED: Look("cancelled", "ban", "violet", "Cancelled before it completed"),
    TaskStatus.EXPIRED: Look("expired", "hourglass", "brown", "Its time to live passed before it ran"),
}
CANCELLING = Look("cancelling", "ban", "amber", "Running; its worker was asked to stop")
UNREADABLE = Look("unreadable", "unknown", "red", "The record in Redis does not decode")
GONE = Look("gone", "unknown", "grey", "No such task any more: retention or a discard removed it")

OUTCOME_LOOKS: dict[str, Look] = {
    "succeeded": STATUS_LOOKS[TaskStatus.SUCCEEDED],
    "failed": STATUS_LOOKS[TaskStatus.FAILED],
    "timed_out": Look("timed out", "clock", "red", "Ran longer than its timeout"),
    "cancelled": STATUS_LOOKS[TaskStatus.CANCELLED],
    "lost": Look("worker lost", "unknown", "crimson", "Its worker vanished while it ran"),
    "given_back": Look("given back", "retry", "grey", "Its worker shut down and handed it on"),
    "running": STATUS_LOOKS[TaskStatus.RUNNING],
}

WORKER_LOOKS: dict[str, Look] = {
    "ready": Look("ready", "check", "green", "Has free slots"),
    "busy": Look("busy", "play", "blue", "Every slot is in use"),
    "draining": Look("draining", "hourglass", "amber", "Finishes what it has and takes nothing new"),
    "quiet": Look("quiet", "pause", "amber", "Told to take nothing new"),
    "late": Look("late", "clock", "amber", "Missed heartbeats"),
    "gone": Look("gone", "unknown", "red", "Not heard of since its lease ended"),
}


def look_of(status: TaskStatus, *, cancel_requested: bool = False) -> Look:
    """The look of a task's status; a running task that was asked to stop says so."""
    if status is TaskStatus.RUNNING and cancel_requested:
        return CANCELLING
    return STATUS_LOOKS[status]


def outcome_look(outcome: str) -> Look:
    """The look of an attempt's end; an outcome this version does not know is shown under its own name."""
    return OUTCOME_LOOKS.get(outcome) or Look(outcome or "unknown", "unknown", "grey", "")


def worker_look(state: str) -> Look:
    """The look of a worker's state; a state this version does not know is shown under its own name."""
    return WORKER_LOOKS.get(state) or Look(state or "unknown", "unknown", "grey", "")
