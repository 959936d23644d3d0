"""After a thousand tasks with kills, retries, cancels and requeues, every number agrees with a recount."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client

from tasks_app import runtime
from tasks_app.domain.errors import DtqError
from tasks_app.domain.status import TERMINAL, TaskStatus
from tests.process.fleet import ACTOR, Fleet
from tests.support.builders import make_submission
from tests.support.forgetting import forget
from tests.support.keyspace import RawClient
from tests.support.scrape import Scrape
from tests.support.until import until

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

pytestmark = [pytest.mark.real_redis, pytest.mark.django_db]
QUEUES = ("mail", "reports", "images")
TILES = re.compile(r'<a class="tile[^"]*" href="([^"]*)".*?<span class="value">(.*?)</span></a>', re.DOTALL)


@pytest.fixture
def site(
    fleet: Fleet, redis_url: str, monkeypatch: pytest.MonkeyPatch, settings: Settings, tmp_path: Path
) -> Iterator[Client]:
    """The site in this process, on the fleet's server."""
    settings.STATIC_ROOT = tmp_path
    forget()
    monkeypatch.setenv("DTQ_REDIS_URL", redis_url)
    monkeypatch.setattr(runtime, "client", lambda: fleet.client)
    monkeypatch.setattr(runtime.client, "cache_clear", lambda: None, raising=False)
    yield Client()
    monkeypatch.undo()
    forget()


def submit_everything(fleet: Fleet) -> list[str]:
    """A thousand tasks: most succeed, some after retries, some fail for good, some are for later."""
    kinds: list[tuple[int, str, dict[str, Any], dict[str, Any]]] = [
        (5, "ledger", {"seconds": 60}, {"priority": 9}),
        (495, "ledger", {}, {}),
        (150, "ledger", {"seconds": 0.05}, {}),
        (100, "flaky", {"fail_times": 1}, {"max_attempts": 3}),
        (50, "flaky", {"fail_times": 9}, {"max_attempts": 2}),
        (100, "fail", {"message": "no"}, {}),
        (40, "no_such_type", {}, {}),
        (60, "ledger", {}, {"delay_ms": 3_600_000}),
    ]
    ids = []
    for number, task_type, payload, fields in kinds:
        submissions = [
            make_submission(
                task_type=task_type,
                payload_json=json.dumps(payload),
                queue=QUEUES[i % len(QUEUES)],
                **{"max_attempts": 5} | fields,
            )
            for i in range(number)
        ]
        for receipt in fleet.commands.submit_many(submissions):
            assert not isinstance(receipt, DtqError), receipt
            ids.append(receipt.task.id)
    return ids


def cancel(fleet: Fleet, ids: list[str]) -> int:
    """Cancel these; how many were waiting and ended at once."""
    return list(fleet.commands.cancel_many(ids, ACTOR).values()).count(None)


def recount(fleet: Fleet) -> list[dict[str, str]]:
    """Every record, found by walking the keyspace."""
    pattern = f"{fleet.config.key_prefix}:task:*"
    client: RawClient = fleet.client
    records = [client.hgetall(key) for key in client.scan_iter(match=pattern, count=1000)]
    return [{name.decode(): value.decode() for name, value in record.items()} for record in records]


def total_of_list(site: Client, query: str) -> int:
    """How many tasks the API lists, page by page."""
    count, cursor = 0, ""
    while True:
        page = site.get(f"/api/v1/tasks?limit=200&{query}{cursor}").json()
        count += len(page["items"])
        if page["next"] is None:
            return count
        cursor = f"&cursor={page['next']}"


def test_metrics_tiles_and_api_equal_a_recount(fleet: Fleet, site: Client) -> None:
    ids = submit_everything(fleet)
    cancelled = cancel(fleet, ids[480:500] + ids[-20:])
    victim = fleet.worker(concurrency=10)
    fleet.worker(concurrency=10)
    until(lambda: fleet.queries.counts()[TaskStatus.SUCCEEDED] > 50, timeout=30, what="some done")
    victim.kill()
    fleet.worker(concurrency=10)
    long = ids[:5]
    fleet.wait_for(long, TaskStatus.RUNNING)
    assert cancel(fleet, long) == 0  # they are asked to end, and do
    fleet.wait_for(long, TaskStatus.CANCELLED)

    def settled() -> bool:
        counts = fleet.queries.counts()
        return not counts[TaskStatus.QUEUED] + counts[TaskStatus.RUNNING] + counts[TaskStatus.RETRYING]

    until(settled, timeout=60, what="all but the delayed ones have ended")
    dead = [task_id for task_id in ids if fleet.status(task_id) is TaskStatus.DEAD_LETTERED]
    revived = dead[::3]
    for task_id in revived:
        fleet.commands.dlq_requeue(task_id, ACTOR)
    until(settled, timeout=60, what="the requeued ones have ended again")

    records = recount(fleet)
    by_status = Counter(record["status"] for record in records)
    assert len(records) == 1000
    assert by_status["cancelled"] == cancelled + len(long) > 25

    seen = Scrape(site.get("/metrics").content.decode())
    expected = {status.value: by_status[status.value] for status in TaskStatus}
    assert {status: seen("dtq_tasks", status=status) for status in expected} == expected
    by_queue = Counter((record["queue"], record["status"]) for record in records)
    for queue in QUEUES:
        assert seen("dtq_queue_scheduled_tasks", queue=queue) == by_queue[queue, "pending"]
        assert seen("dtq_queue_dead_letters", queue=queue) == by_queue[queue, "dead_lettered"]
        assert seen("dtq_queue_waiting_tasks", queue=queue) == seen("dtq_queue_running_tasks", queue=queue) == 0
    by_type = Counter(record["task_type"] for record in records if record["status"] == "dead_lettered")
    for task_type in {record["task_type"] for record in records}:
        assert seen.total("dtq_dead_letters", task_type=task_type) == by_type[task_type]

    # The counters, from what the test did and what the records hold: a revived task had ended once before.
    born = Counter((record["queue"], record["task_type"]) for record in records)
    for (queue, task_type), number in born.items():
        assert seen("dtq_tasks_submitted_total", queue=queue, task_type=task_type) == number
    ended = {outcome.value: seen.total("dtq_tasks_finished_total", outcome=outcome.value) for outcome in TERMINAL}
    assert ended == {o.value: by_status[o.value] for o in TERMINAL} | {
        "dead_lettered": by_status["dead_lettered"] + len(revived)
    }
    runs = seen.total("dtq_tasks_started_total")
    assert runs == seen.total("dtq_task_wait_seconds_count")
    assert seen.total("dtq_tasks_retried_total") == runs - sum(ended.values()) + cancelled

    assert {status: total_of_list(site, f"status={status}") for status in expected} == expected
    listed = {queue["name"]: queue for queue in site.get("/api/v1/queues").json()["items"]}
    for queue in QUEUES:
        for status in ("queued", "pending", "retrying", "running", "dead_lettered"):
            assert listed[queue][status] == by_queue[queue, status]

    tiles = TILES.findall(site.get("/").content.decode())
    shown = {href.rpartition("status=")[2] if "status=" in href else "dead_lettered": value for href, value in tiles}
    assert {status: int(re.sub(r"<[^>]*>|\D", "", value)) for status, value in shown.items()} == expected
