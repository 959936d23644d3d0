"""Bulk actions over real processes: a leader's death changes nothing, and a careful one waits for what it tries."""

from __future__ import annotations

import http.client
import socket
from pathlib import Path

import pytest

from tasks_app.domain.operation import Operation, OperationState, Selection
from tasks_app.domain.status import TaskStatus
from tasks_app.domain.task import Task
from tasks_app.domain.transitions import Action
from tasks_app.store.operations import Operations
from tests.process.fleet import Fleet, Process
from tests.process.test_scheduler import leader
from tests.support.builders import ACTOR
from tests.support.link import Link
from tests.support.operations import press
from tests.support.until import until

DEAD = 6000


def web(fleet: Fleet) -> tuple[Process, int]:
    """A web process that answers, and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = fleet.start("runweb", "--port", str(port))
    until(lambda: _answers(port), timeout=40, what="the web answers")
    return process, port


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def _queued(fleet: Fleet) -> int:
    return fleet.queries.counts()[TaskStatus.QUEUED]


def test_web_and_leader_die_half_way_and_nothing_is_lost_or_doubled(
    fleet: Fleet, request: pytest.FixtureRequest
) -> None:
    ids = [task_id for _ in range(DEAD // 1000) for task_id in fleet.submit_many(1000, "fail")]
    worker = fleet.worker("--no-scheduler", concurrency=100)
    dead = TaskStatus.DEAD_LETTERED
    until(lambda: fleet.queries.counts()[dead] == DEAD, timeout=60, what="all are dead")
    worker.kill()
    operations = Operations(fleet.client, fleet.config)
    site, port = web(fleet)
    status, body = press(port)
    assert (status, body["total"], body["waits_for_scheduler"]) == (202, DEAD, True)
    operation_id = str(body["id"])

    def now() -> Operation:
        return operations.get(operation_id)

    assert (now().done, _queued(fleet)) == (0, 0), "asking moves nothing"
    link = Link(Path(fleet.url.removeprefix("unix://")))
    request.addfinalizer(link.close)
    link.delay_s = 0.02  # so that half-way lasts for seconds
    candidates = [fleet.start("runscheduler", REDIS_URL=link.url) for _ in range(2)]
    first = leader(fleet, candidates)
    until(lambda: now().done > 0, timeout=30, what="it is under way")
    link.freeze()  # half-way it stays, however long another web process takes to start
    first.kill()
    site.kill()
    half = now()
    assert 0 < half.done < DEAD
    assert half.runs
    # Its last call may still be on its way in; between two calls, what has moved and what is left is all there was.
    until(lambda: (_queued(fleet), DEAD - now().done) == (now().done, fleet.queries.counts()[dead]), what="it adds up")
    _, port = web(fleet)
    status, body = press(port)
    assert (status, body["code"]) == (409, "OPERATION_RUNNING")
    link.delay_s = 0.0
    link.thaw()
    until(lambda: not now().runs, timeout=60, what="another leader has finished it")
    ended = now()
    assert (ended.done, ended.looked, ended.skips, ended.state) == (DEAD, DEAD, 0, "finished")
    rows = [row for first in range(0, DEAD, 1000) for row in fleet.queries.rows(ids[first : first + 1000])]
    assert {row.requeues for row in rows if isinstance(row, Task)} == {1}
    assert len(rows) == DEAD


def test_a_careful_one_waits_for_a_worker_and_stops_where_the_cause_is_still_there(fleet: Fleet) -> None:
    fleet.submit_many(20, "fail")
    dead = TaskStatus.DEAD_LETTERED
    worker = fleet.worker("--no-scheduler", concurrency=20)
    until(lambda: fleet.queries.counts()[dead] == 20, timeout=30, what="all are dead")
    worker.kill()
    operations = Operations(fleet.client, fleet.config)
    begun = operations.begin(Action.REQUEUE, Selection(status=dead), ACTOR, careful=True)
    fleet.start("runscheduler")
    until(lambda: operations.get(begun.id).trying, timeout=30, what="it tries one")
    fleet.worker("--no-scheduler")
    until(lambda: not operations.get(begun.id).runs, timeout=30, what="it has stopped")
    ended = operations.get(begun.id)
    assert (ended.state, ended.done, ended.failed) == (OperationState.STOPPED, 1, 1)
    assert fleet.queries.counts()[dead] == 20
