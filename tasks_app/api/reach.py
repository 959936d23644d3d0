"""What a key for some queues can get at. All others reach everything, and nothing here costs them a round trip.

A queue that the client names itself is refused by name (403), whether it exists or not. A task in a queue out of reach
is not there (404), as its id says nothing about its queue.
"""

from __future__ import annotations

from rest_framework.request import Request

from tasks_app import runtime
from tasks_app.api.auth import ApiClient, client_of
from tasks_app.api.base import TASK_ID, path_part
from tasks_app.domain.errors import NotFound, NotPermitted
from tasks_app.domain.submission import QUEUE_PATTERN
from tasks_app.domain.task import Task


def reached_task(request: Request, text: str) -> str:
    """``text`` when it can be the id of a task within reach. One round trip for a key for some queues.

    Raises:
        NotFound: it cannot, or there is none within reach.
    """
    wanted = path_part(text, TASK_ID, "task")
    reach = client_of(request).reach
    if not reach.everywhere:
        # Which queue a task belongs to never changes, so what is done next acts on the task that was looked at.
        row = next(iter(runtime.queries().rows([wanted])), None)
        if not isinstance(row, Task) or not reach.covers(row.queue):
            raise NotFound(f"There is no task {wanted}", task_id=wanted)
    return wanted


def reached_queue(request: Request, text: str) -> str:
    """``text`` when it can be the name of a queue within reach.

    Raises:
        NotFound: it cannot.
        NotPermitted: it is out of reach.
    """
    name = path_part(text, QUEUE_PATTERN, "queue")
    require_queue(client_of(request), name)
    return name


def require_queue(client: ApiClient, queue: str | None) -> None:
    """Refuse a queue out of reach.

    Raises:
        NotPermitted: it is.
    """
    if queue is not None and not client.reach.covers(queue):
        raise NotPermitted("The API key is not for this queue")
