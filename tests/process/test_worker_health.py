"""``manage.py workerhealth`` about real workers: idle, full, paused, stopped, stuck, and with Redis away."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from tests.process.fleet import ACTOR, Fleet, Process
from tests.support.server import PrivateServer
from tests.support.until import until

pytestmark = pytest.mark.real_redis
STUCK_AFTER_S = "1"


def health(fleet: Fleet, *arguments: str) -> tuple[int, str]:
    """The probe's exit status and its one line."""
    probe = fleet.start("workerhealth", "--stuck-after", STUCK_AFTER_S, *arguments)
    code = probe.wait()
    [line] = probe.text.splitlines()
    return code, line


def becomes(fleet: Fleet, code: int, reason: str, *arguments: str) -> None:
    """The probe comes to that answer: a live worker may stand still for a moment and be blamed for it, rightly."""

    def told() -> bool:
        found = health(fleet, *arguments)
        return found[0] == code and reason in found[1]

    until(told, timeout=20, what=f"{code}: {reason}")


def pid(process: Process) -> tuple[str, str]:
    return "--pid", str(process.pid)


def test_idle_full_and_paused_are_healthy(fleet: Fleet) -> None:
    worker = fleet.worker(concurrency=1)
    becomes(fleet, 0, f"healthy: {fleet.worker_id(worker)} nothing waits for long")
    fleet.submit_many(2, "ledger", '{"seconds": 60}')
    becomes(fleet, 0, "full, 1 of 1", *pid(worker))
    fleet.submit("ledger", queue="shut")
    fleet.commands.pause("shut", ACTOR)
    becomes(fleet, 0, "full, 1 of 1", *pid(worker))


def test_a_stopped_worker_is_found_and_its_neighbour_is_not_blamed(fleet: Fleet) -> None:
    stopped, other = fleet.worker(), fleet.worker()
    becomes(fleet, 0, "healthy", "--all", "--expect", "2")
    name, neighbour = fleet.worker_id(stopped), fleet.worker_id(other)
    stopped.send(signal.SIGSTOP)
    becomes(fleet, 1, f"{name} no heartbeat", *pid(stopped))

    def it_alone_is_blamed() -> bool:
        code, line = health(fleet, "--all")
        return code == 1 and name in line and neighbour not in line

    until(it_alone_is_blamed, timeout=20, what="it alone is blamed")
    becomes(fleet, 0, "healthy", *pid(other))
    stopped.send(signal.SIGCONT)
    becomes(fleet, 0, "healthy", *pid(stopped))


def test_a_fetch_loop_that_stands_still_is_found_once_work_waits(fleet: Fleet) -> None:
    worker = fleet.worker(TASK_MODULES="tests.process.tasks,tests.process.stuck")
    fleet.submit("ledger")
    becomes(fleet, 1, "this worker has not looked for any", *pid(worker))
    until(lambda: [info.state for info in fleet.queries.workers()] == ["ready"], what="it beats all the same")


def test_a_worker_that_claims_nothing_though_it_looks_is_found(fleet: Fleet) -> None:
    worker = fleet.worker(TASK_MODULES="tests.process.tasks,tests.process.blind")
    fleet.submit("ledger")
    becomes(fleet, 1, "with room, has taken none", *pid(worker))


def test_who_is_not_there_is_not_healthy(fleet: Fleet) -> None:
    worker = fleet.worker()
    worker.kill()
    code, line = health(fleet, *pid(worker))
    assert (code, line) == (1, f"CommandError: unhealthy: there is no process {worker.pid}")
    code, line = health(fleet)
    assert code == 1 and "0 of 1 workers are on the list" in line
    assert health(fleet, "--worker", "no-such-worker")[0] == 1


def test_while_redis_is_away_no_worker_is_blamed(
    make_server: Callable[..., PrivateServer], fleet_on: Callable[[PrivateServer], Fleet]
) -> None:
    server = make_server(aof=True)
    fleet = fleet_on(server)
    worker = fleet.worker()
    server.kill()
    code, line = health(fleet, *pid(worker))
    assert (code, line.partition(":")[0]) == (0, "unknown")
    server.start()
    becomes(fleet, 0, "healthy", *pid(worker))
