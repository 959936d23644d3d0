"""Who may listen to the API's event stream: who may read, of the queues within reach."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from asgiref.sync import sync_to_async

from tasks_app.api.auth import admit
from tasks_app.api.errors import problem_of
from tasks_app.domain.api_key import Scope
from tasks_app.domain.errors import DtqError
from tasks_app.live.stream import Verdict


async def may_follow(scope: MutableMapping[str, Any], again: bool) -> Verdict:
    """200 with a key that reads, else the API's status. Only the opening of a stream counts as a request."""
    # Two of them are one list, as everywhere else, and no key: a proxy's and a client's must not compete.
    sent = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-api-key"]
    text = ",".join(sent) if sent else None
    return await sync_to_async(_judge, thread_sensitive=False)(text, 0 if again else 1)


def _judge(given: str | None, cost: int) -> Verdict:
    try:
        client = admit(given, cost)
        client.require(Scope.READ)
    except DtqError as error:
        problem = problem_of(error)
        retry = problem.headers.get("Retry-After")
        return Verdict(problem.status, retry_after_s=int(retry) if retry else None)
    return Verdict(200, client.reach)
