"""One example per answer, for the OpenAPI document. Tests validate each against its shape."""

from __future__ import annotations

from typing import Any

REQUEST_ID = "0f7c6a54c1d24c1f8f3d6f2b9e5a7c10"
TASK_ID = "019a1c2e5f7b7d3e8c4a9b6d1e2f3a4b"
OTHER_ID = "019a1c2e60117b52a1f09d7c3e5b8a26"

SUBMISSION: dict[str, Any] = {
    "task_type": "echo",
    "payload": {"hello": "world"},
    "queue": "default",
    "priority": 5,
    "idempotency_key": "order-4711",
    "metadata": {"ttl_seconds": 3600},
}

SUMMARY: dict[str, Any] = {
    "id": TASK_ID,
    "task_type": "echo",
    "queue": "default",
    "priority": 5,
    "status": "queued",
    "attempt": 1,
    "max_attempts": 5,
    "timeout_ms": 30000,
    "created_at": "2026-01-31T12:00:00.000Z",
    "enqueued_at": "2026-01-31T12:00:00.000Z",
    "started_at": None,
    "finished_at": None,
    "due_at": None,
    "expires_at": "2026-01-31T13:00:00.000Z",
    "worker_id": None,
    "cancel_requested": False,
    "give_backs": 0,
    "requeues": 0,
    "idempotency_key": "order-4711",
    "fingerprint": None,
    "error": None,
    "progress": None,
}
ERROR: dict[str, Any] = {"class": "ConnectionError", "message": "smtp.example.org is away", "traceback": None}

TASK: dict[str, Any] = SUMMARY | {
    "payload": {"hello": "world"},
    "metadata": {"ttl_seconds": 3600},
    "result": None,
}
SUCCEEDED: dict[str, Any] = TASK | {
    "status": "succeeded",
    "started_at": "2026-01-31T12:00:00.002Z",
    "finished_at": "2026-01-31T12:00:00.003Z",
    "worker_id": "web1-4242-9f3c2a1b",
    "result": {"hello": "world"},
}
CANCELLED: dict[str, Any] = TASK | {"status": "cancelled", "finished_at": "2026-01-31T12:00:05.000Z"}
REQUEUED: dict[str, Any] = TASK | {"requeues": 1, "metadata": {"ttl_seconds": 3600, "previous_attempts": [5]}}
DETAIL: dict[str, Any] = SUCCEEDED | {
    "attempts": [
        {
            "number": 1,
            "outcome": "succeeded",
            "worker_id": "web1-4242-9f3c2a1b",
            "queued_at": "2026-01-31T12:00:00.000Z",
            "started_at": "2026-01-31T12:00:00.002Z",
            "ended_at": "2026-01-31T12:00:00.003Z",
            "error": None,
        }
    ],
    "log": [{"at": "2026-01-31T12:00:00.002Z", "attempt": 1, "message": "saying it back"}],
}
UNREADABLE: dict[str, Any] = {"id": "019a1c2e5f7b7d3e8c4a9b6d1e2f3a4c", "unreadable": "the status is missing"}
RESULT: dict[str, Any] = {
    "id": TASK_ID,
    "status": "succeeded",
    "finished": True,
    "error": None,
    "result": {"hello": "world"},
}
NO_RESULT_YET: dict[str, Any] = {"id": TASK_ID, "status": "running", "finished": False, "error": None, "result": None}
BULK: dict[str, Any] = {
    "accepted": 1,
    "duplicates": 0,
    "refused": 1,
    "items": [
        {"status": 202, "task": SUMMARY, "error": None},
        {
            "status": 400,
            "task": None,
            "error": {
                "code": "VALIDATION_ERROR",
                "message": "Invalid input: priority must be a whole number 0..9",
                "details": {"fields": {"priority": ["must be a whole number 0..9"]}},
            },
        },
    ],
}
PAUSE: dict[str, Any] = {"reason": "the mail server moves house", "until": "2026-01-31T14:00:00Z"}
QUEUE: dict[str, Any] = {
    "name": "emails",
    "queued": 12,
    "pending": 3,
    "retrying": 1,
    "running": 4,
    "dead_lettered": 2,
    "oldest_at": "2026-01-31T11:59:58.120Z",
    "paused": None,
    "bands": {},
}
ONE_QUEUE: dict[str, Any] = QUEUE | {"bands": {"9": 2, "5": 10}}
PAUSED_QUEUE: dict[str, Any] = ONE_QUEUE | {
    "paused": {
        "by": "api",
        "at": "2026-01-31T12:00:00.000Z",
        "reason": "the mail server moves house",
        "until": "2026-01-31T14:00:00.000Z",
    }
}
PURGED: dict[str, Any] = {"done": 1200, "remaining": 0}
DISCARDED: dict[str, Any] = {"id": TASK_ID, "discarded": True}
WORKER: dict[str, Any] = {
    "id": "web1-4242-9f3c2a1b",
    "state": "busy",
    "host": "web1",
    "pid": 4242,
    "version": "1.0.0",
    "started_at": "2026-01-31T09:00:00.000Z",
    "seen_at": "2026-01-31T12:00:00.000Z",
    "concurrency": 10,
    "occupied": 1,
    "queues": [],
    "processed": 81234,
    "failed": 17,
    "running": [TASK_ID],
    "note": "",
    "drain_timeout_ms": 30_000,
    "told": None,
}
_TOLD: dict[str, Any] = {"by": "key:deploy", "at": "2026-01-31T12:00:01.000Z"}
QUIET_WORKER: dict[str, Any] = WORKER | {"told": {"wish": "quiet"} | _TOLD}
STOPPED_WORKER: dict[str, Any] = WORKER | {"told": {"wish": "stop"} | _TOLD}
DEAD_LETTER: dict[str, Any] = {
    "entry": "1769860800000-0",
    "task_id": TASK_ID,
    "task_type": "email.send",
    "queue": "emails",
    "attempts": 5,
    "error_class": "ConnectionError",
    "error_message": "smtp.example.org is away",
    "fingerprint": "5d41402abc4b2a76",
    "worker_id": "web1-4242-9f3c2a1b",
    "failed_at": "2026-01-31T12:00:00.000Z",
}
DEAD_LETTER_GROUP: dict[str, Any] = {
    "fingerprint": "5d41402abc4b2a76",
    "task_type": "email.send",
    "error_class": "ConnectionError",
    "error_message": "smtp.example.org is away",
    "count": 17,
    "first_seen": "2026-01-31T08:00:00.000Z",
    "last_seen": "2026-01-31T12:00:00.000Z",
    "hourly": [*[0] * 19, 2, 0, 5, 9, 1],
    "current_hour": "2026-01-31T12:00:00.000Z",
}
AUDIT: dict[str, Any] = {
    "entry": "1769860800000-0",
    "at": "2026-01-31T12:00:00.000Z",
    "actor": "api",
    "action": "cancel",
    "target": "task",
    "task_id": TASK_ID,
    "source": "127.0.0.1",
    "request_id": REQUEST_ID,
    "detail": "",
}
NEXT = "eyJhZnRlciI6IjAxOWExYzJlIn0"

OPERATION_ASKED: dict[str, Any] = {
    "action": "requeue",
    "filter": {"status": "dead_lettered", "queue": "mail"},
    "careful": True,
}
OPERATION: dict[str, Any] = {
    "id": OTHER_ID,
    "action": "requeue",
    "filter": {"status": "dead_lettered", "queue": "mail", "created_before": "2026-01-31T12:00:00.001Z"},
    "state": "running",
    "total": 3417,
    "exact": True,
    "looked": 1200,
    "done": 1198,
    "told": 0,
    "skipped": {"queued": 2},
    "careful": True,
    "trying": 0,
    "failed": 0,
    "actor": "key:ops",
    "created_at": "2026-01-31T12:00:00.000Z",
    "ended_at": None,
    "ended_by": None,
    "waits_for_scheduler": False,
}
ABORTED: dict[str, Any] = OPERATION | {
    "state": "aborted",
    "ended_at": "2026-01-31T12:00:01.000Z",
    "ended_by": "key:ops",
}
# Per code: what its message and details look like.
PROBLEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "VALIDATION_ERROR": (
        "Invalid input: priority must be a whole number 0..9",
        {"fields": {"priority": ["must be a whole number 0..9"]}},
    ),
    "INVALID_CURSOR": ("The cursor is not one this server made", {}),
    "BAD_REQUEST": ("The body could not be read", {}),
    "UNAUTHENTICATED": ("Send the API key in the header X-API-Key", {}),
    "FORBIDDEN": ("This needs an API key with the scope operate", {}),
    "NOT_FOUND": ("No such task", {}),
    "METHOD_NOT_ALLOWED": ('Method "PUT" not allowed.', {}),
    "NOT_ACCEPTABLE": ("Could not satisfy the request Accept header.", {}),
    "CANCEL_REQUESTED": (
        "The task is running; its worker was told to stop it",
        {"task_id": TASK_ID, "status": "running"},
    ),
    "IDEMPOTENCY_CONFLICT": (
        "The task's idempotency key belongs to another live task",
        {"task_id": TASK_ID, "holder": OTHER_ID},
    ),
    "IDEMPOTENCY_IN_PROGRESS": ("The idempotency key's task is still alive", {"task_id": TASK_ID}),
    "IDEMPOTENCY_MISMATCH": ("The idempotency key was used for another submission", {"task_id": TASK_ID}),
    "UNREADABLE_RECORD": (
        "The task's record is damaged; it can only be discarded",
        {"task_id": TASK_ID},
    ),
    "OPERATION_ENDED": ("The operation had finished already", {"state": "finished"}),
    "OPERATION_RUNNING": ("The same operation runs already", {"operation_id": OTHER_ID}),
    "TOO_MANY_OPERATIONS": ("10 operations run already; wait for one or abort one", {}),
    "WRONG_STATUS": (
        "The task is running; requeue is for dead_lettered and failed tasks",
        {"task_id": TASK_ID, "status": "running", "allowed": ["dead_lettered", "failed"]},
    ),
    "WORKER_LEAVING": (
        "Worker web1-4242-9f3c2a1b is stopping, which cannot be taken back",
        {"state": "draining"},
    ),
    "TASK_FINISHED": ("The task has ended: succeeded", {"task_id": TASK_ID, "status": "succeeded"}),
    "LENGTH_REQUIRED": ("Send the body with a Content-Length", {}),
    "PAYLOAD_TOO_LARGE": ("The payload is over 262144 bytes of JSON", {"limit_bytes": 262144}),
    "UNSUPPORTED_MEDIA_TYPE": ('Unsupported media type "text/plain" in request.', {}),
    "QUEUE_FULL": ("Queue default is full", {"queue": "default", "limit": 100000}),
    "RATE_LIMITED": ("Too many requests with this API key", {}),
    "INTERNAL_ERROR": ("Something went wrong here; the request id finds it in the logs", {}),
    "REDIS_UNAVAILABLE": ("Redis cannot be reached", {}),
}


def problem(code: str) -> dict[str, Any]:
    """The body of a refusal with ``code``."""
    message, details = PROBLEMS[code]
    body: dict[str, Any] = {"code": code, "message": message, "request_id": REQUEST_ID}
    return body | ({"details": details} if details else {})


def listed(item: dict[str, Any], *more: dict[str, Any], following: str | None = None) -> dict[str, Any]:
    """A page with ``item`` on it."""
    return {"items": [item, *more], "next": following}
