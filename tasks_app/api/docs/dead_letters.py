"""Dead letters."""

from __future__ import annotations

from tasks_app.api import examples
from tasks_app.api.docs.tasks import requeue_of
from tasks_app.api.openapi import PAGE, answer, endpoint, matching, page_of, query
from tasks_app.api.query import FINGERPRINT
from tasks_app.api.serializers import dead_letters as shapes

DLQ_LIST = endpoint(
    "listDeadLetters",
    "dead letters",
    "List dead letters, newest first",
    "",
    parameters=(
        query("fingerprint", matching(FINGERPRINT.pattern), "Only those that failed alike."),
        *PAGE,
    ),
    answers={
        200: answer(page_of(shapes.DeadLetterSerializer), "A page.", examples.listed(examples.DEAD_LETTER)),
    },
    refusals=("INVALID_CURSOR",),
)

DLQ_GROUPS = endpoint(
    "listDeadLetterGroups",
    "dead letters",
    "List dead letters by what they have in common",
    "The cause seen last comes first; one that is seen again while you page moves to the front.",
    parameters=PAGE,
    answers={
        200: answer(page_of(shapes.DeadLetterGroupSerializer), "A page.", examples.listed(examples.DEAD_LETTER_GROUP)),
    },
    refusals=("INVALID_CURSOR",),
)

DLQ_REQUEUE = requeue_of("requeueDeadLetter", "dead letters")

DLQ_DISCARD = endpoint(
    "discardDeadLetter",
    "dead letters",
    "Discard a dead-lettered, failed or unreadable task",
    "The record goes, with all that belongs to it.",
    request=None,
    answers={200: answer(shapes.DiscardedSerializer, "It is gone.", examples.DISCARDED)},
    refusals=("NOT_FOUND", "WRONG_STATUS"),
)

DLQ_PURGE = endpoint(
    "purgeDeadLetters",
    "dead letters",
    "Discard all dead letters",
    "Works in small steps for about two seconds. While `remaining` is not 0, send it again.",
    request=None,
    answers={200: answer(shapes.PurgedSerializer, "How far it came.", examples.PURGED)},
)
