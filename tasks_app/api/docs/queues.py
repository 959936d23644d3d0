"""Queues."""

from __future__ import annotations

from tasks_app.api import examples
from tasks_app.api.openapi import PAGE, answer, endpoint, page_of
from tasks_app.api.serializers import queues as shapes
from tasks_app.api.serializers.dead_letters import PurgedSerializer

QUEUES_LIST = endpoint(
    "listQueues",
    "queues",
    "List queues",
    "Every queue that was ever used.",
    parameters=PAGE,
    answers={200: answer(page_of(shapes.QueueSerializer), "All, or a page.", examples.listed(examples.QUEUE))},
    refusals=("INVALID_CURSOR",),
)

QUEUE_SHOW = endpoint(
    "showQueue",
    "queues",
    "Show a queue",
    "With its waiting tasks per priority.",
    answers={200: answer(shapes.QueueSerializer, "The queue.", examples.ONE_QUEUE)},
    refusals=("NOT_FOUND",),
)

QUEUE_PAUSE = endpoint(
    "pauseQueue",
    "queues",
    "Pause a queue",
    "Once this has answered, no task of the queue starts; running ones go on. Submissions are still accepted.",
    request=(shapes.PauseSerializer, examples.PAUSE),
    answers={200: answer(shapes.QueueSerializer, "It is paused.", examples.PAUSED_QUEUE)},
    refusals=("NOT_FOUND",),
)

QUEUE_RESUME = endpoint(
    "resumeQueue",
    "queues",
    "Resume a queue",
    "Does nothing to one that is not paused.",
    request=None,
    answers={200: answer(shapes.QueueSerializer, "It runs.", examples.ONE_QUEUE)},
    refusals=("NOT_FOUND",),
)

QUEUE_PURGE = endpoint(
    "purgeQueue",
    "queues",
    "Cancel a queue's waiting and scheduled tasks",
    "Works in small steps for about two seconds. While `remaining` is not 0, send it again.",
    request=None,
    answers={200: answer(PurgedSerializer, "How far it came.", examples.PURGED)},
    refusals=("NOT_FOUND",),
)
