"""Submit, list, read and act on tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app import runtime
from tasks_app.api.auth import ApiClient, actor_of, client_of
from tasks_app.api.base import TASK_ID, ApiView, no_body, path_part
from tasks_app.api.docs import tasks as docs
from tasks_app.api.errors import problem_of
from tasks_app.api.media import bulk_limit
from tasks_app.api.query import QueryReader
from tasks_app.api.reach import reached_task, require_queue
from tasks_app.api.representation import (
    JsonText,
    detail_text,
    encode,
    listing,
    result_text,
    summary_text,
    task_text,
)
from tasks_app.api.submitting import to_submission, to_submissions
from tasks_app.api.waiting import MAX_WAIT_S, task_at_its_end
from tasks_app.domain.api_key import Scope
from tasks_app.domain.errors import DtqError, NotPermitted, ValidationError
from tasks_app.domain.snapshot import TaskFilter
from tasks_app.domain.submission import QUEUE_PATTERN, TYPE_PATTERN, Submission
from tasks_app.store.commands import Receipt

KEY_HEADER = "HTTP_IDEMPOTENCY_KEY"


class TasksView(ApiView):
    """``/tasks``."""

    needs = ApiView.needs | {"POST": Scope.SUBMIT}
    takes_submissions = True
    reads_query = frozenset({"GET", "HEAD"})

    @docs.TASKS_LIST
    def get(self, request: Request) -> Response:
        """Newest first."""
        client = client_of(request)
        with QueryReader(request.GET) as query:
            limit, cursor = query.limit(25), query.cursor()
            where = TaskFilter(
                status=query.status(),
                queue=query.matching("queue", QUEUE_PATTERN),
                task_type=query.matching("task_type", TYPE_PATTERN),
                worker_id=query.text("worker_id"),
                q=query.text("q"),
                created_after=query.moment("created_after"),
                created_before=query.moment("created_before"),
                reach=client.reach,
            )
        require_queue(client, where.queue)
        page = runtime.queries().tasks(where, cursor, limit)
        return Response(listing(map(summary_text, page.items), page.next))

    @docs.TASKS_SUBMIT
    def post(self, request: Request) -> Response:
        """One check, one script call."""
        raw: Any = request.data
        key = request.META.get(KEY_HEADER)
        if key is not None and isinstance(raw, dict):
            raw = {**raw, "idempotency_key": key}
        submission = to_submission(raw)
        require_queue(client_of(request), submission.queue)
        receipt = runtime.commands().submit(submission)
        return Response(
            task_text(receipt.task, {"duplicate": receipt.duplicate}),
            status=200 if receipt.duplicate else 202,
            headers={"Location": f"{request.path}/{receipt.task.id}"},
        )


class TasksBulkView(ApiView):
    """``/tasks/bulk``."""

    needs = ApiView.needs | {"POST": Scope.SUBMIT}
    takes_submissions = True

    def body_limit(self) -> int:
        """Room for many tasks."""
        return bulk_limit()

    @docs.TASKS_BULK
    def post(self, request: Request) -> Response:
        """Every task is checked, the good ones go to Redis in one script call, and each gets its own answer."""
        if KEY_HEADER in request.META:
            raise ValidationError({"Idempotency-Key": ["is for one task; in bulk each task carries its own"]})
        client = client_of(request)
        checked = [_permitted(item, client) for item in to_submissions(request.data)]
        good = [item for item in checked if isinstance(item, Submission)]
        answers = iter(runtime.commands().submit_many(good) if good else [])
        outcomes = [next(answers) if isinstance(item, Submission) else item for item in checked]
        for outcome in outcomes:
            if isinstance(outcome, DtqError):
                runtime.refusals().count(problem_of(outcome).code)
        return Response(_bulk_text(outcomes))


class TaskView(ApiView):
    """``/tasks/{id}``."""

    @docs.TASK_SHOW
    def get(self, request: Request, id: str) -> Response:
        """The task with its attempts and log lines."""
        return Response(detail_text(runtime.queries().detail(reached_task(request, id))))

    def http_method_not_allowed(  # type: ignore[override]  # as the library does
        self, request: Request, *args: Any, **kwargs: Any
    ) -> Response:
        """405; but ``POST /tasks/cancel``, the id left out, asks for a task that is not there."""
        path_part(kwargs["id"], TASK_ID, "task")
        return super().http_method_not_allowed(request, *args, **kwargs)


class TaskResultView(ApiView):
    """``/tasks/{id}/result``."""

    reads_query = frozenset({"GET", "HEAD"})

    @docs.TASK_RESULT
    def get(self, request: Request, id: str) -> Response:
        """200 once the task has ended, 202 until then."""
        with QueryReader(request.GET) as query:
            seconds = query.seconds("wait", MAX_WAIT_S)
        task = task_at_its_end(reached_task(request, id), seconds)
        if task.status.is_terminal:
            return Response(result_text(task))
        return Response(result_text(task), status=202, headers={"Retry-After": "1"})


class TaskCancelView(ApiView):
    """``/tasks/{id}/cancel``."""

    @docs.TASK_CANCEL
    def post(self, request: Request, id: str) -> Response:
        """202 when it ended at once; a running one raises ``CancelRequested``."""
        no_body(request)
        runtime.commands().cancel(reached_task(request, id), actor_of(request))
        return accepted(id)


class TaskRequeueView(ApiView):
    """``/tasks/{id}/requeue``."""

    @docs.TASK_REQUEUE
    def post(self, request: Request, id: str) -> Response:
        """A dead-lettered or failed task gets a fresh start."""
        return requeue(request, id)


class TaskRunNowView(ApiView):
    """``/tasks/{id}/run-now``."""

    @docs.TASK_RUN_NOW
    def post(self, request: Request, id: str) -> Response:
        """A pending or retrying task is due at once."""
        no_body(request)
        runtime.commands().run_now(reached_task(request, id), actor_of(request))
        return accepted(id)


def requeue(request: Request, id: str) -> Response:
    """Revive a task and answer with it."""
    no_body(request)
    runtime.commands().dlq_requeue(reached_task(request, id), actor_of(request))
    return accepted(id)


def accepted(id: str) -> Response:
    """202 with the task as it is now, which may be further on than the action left it."""
    return Response(task_text(runtime.queries().task(id)), status=202)


def _permitted(item: Submission | DtqError, client: ApiClient) -> Submission | DtqError:
    try:
        require_queue(client, None if isinstance(item, DtqError) else item.queue)
    except NotPermitted as refusal:
        return refusal
    return item


def _bulk_text(outcomes: list[Receipt | DtqError]) -> JsonText:
    accepted_count = sum(isinstance(outcome, Receipt) and not outcome.duplicate for outcome in outcomes)
    duplicates = sum(isinstance(outcome, Receipt) and outcome.duplicate for outcome in outcomes)
    counts = json.dumps(
        {
            "accepted": accepted_count,
            "duplicates": duplicates,
            "refused": len(outcomes) - accepted_count - duplicates,
        },
        separators=(",", ":"),
    )
    return JsonText(f'{counts[:-1]},"items":[{",".join(_bulk_items(outcomes))}]}}')


def _bulk_items(outcomes: list[Receipt | DtqError]) -> Iterator[str]:
    for outcome in outcomes:
        if isinstance(outcome, Receipt):
            status = 200 if outcome.duplicate else 202
            yield f'{{"status":{status},"task":{summary_text(outcome.task)},"error":null}}'
        else:
            problem = problem_of(outcome)
            error: dict[str, Any] = {"code": problem.code, "message": problem.message}
            if problem.details:
                error["details"] = problem.details
            yield f'{{"status":{problem.status},"task":null,"error":{encode(error)}}}'
