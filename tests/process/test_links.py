"""Links that are slow, frozen, half-open or cut, and a server that forgets or refuses: work flows again by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tasks_app.domain.errors import StoreUnavailable
from tests.process.fleet import LEASE_S, Fleet
from tests.process.trial import Trial, trial_of
from tests.support.link import Link
from tests.support.server import PrivateServer
from tests.support.until import until


class World:
    """Two workers that reach their server over a link; the test reaches it directly."""

    def __init__(self, folder: Path) -> None:
        self.server = PrivateServer(aof=True)
        self.server.start()
        self.link = Link(Path(self.server.url.removeprefix("unix://")))
        # A second without an answer is enough to give a connection up: the tests are not to wait longer.
        self.fleet = Fleet(f"{self.link.url}?socket_timeout=1", folder, seen_by=self.server.url)
        self.workers = [self.fleet.worker(ready=False) for _ in range(2)]
        for worker in self.workers:
            until(lambda: self.fleet.shows(worker), timeout=30, what="a worker")  # noqa: B023 - waited for right here

    def close(self) -> None:
        self.fleet.close()
        self.link.close()
        self.server.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("links"))
    yield made
    made.close()


def lasting(seconds: float, trial: Trial | None = None) -> float:
    """Let a fault last, and at least until a submit of ``trial`` is refused; the moment at which it is over."""
    began = time.monotonic()
    until(lambda: time.monotonic() - began >= seconds, timeout=seconds + 5)
    if trial:
        until(lambda: trial.refused, what="a refusal")
    return time.monotonic()


def test_a_slow_link_slows_work_and_loses_none(world: World) -> None:
    with trial_of(world.fleet) as trial:
        world.link.delay_s = 0.1
        before = trial.ended()
        until(lambda: trial.ended() >= before + 10, timeout=10, what="work over the slow link")
        world.link.delay_s = 0.0
        trial.flows_again(since=time.monotonic(), within=5)
        assert trial.reckon() == 0


@pytest.mark.parametrize("seconds", [1.5, LEASE_S + 1.5], ids=["shorter_than_a_lease", "longer_than_a_lease"])
def test_a_frozen_link_stops_work_until_it_thaws(world: World, seconds: float) -> None:
    with trial_of(world.fleet) as trial:
        world.link.freeze()
        over = lasting(seconds, trial)
        world.link.thaw()
        trial.flows_again(since=over, within=5)
        trial.reckon()


def test_half_open_connections_are_given_up(world: World) -> None:
    with trial_of(world.fleet) as trial:
        world.link.go_half_open()
        trial.flows_again(since=time.monotonic(), within=6)
        trial.reckon()


def test_a_cut_link_is_mended_without_a_restart(world: World) -> None:
    with trial_of(world.fleet) as trial:
        world.link.cut(refuse=True)
        over = lasting(1.5, trial)
        world.link.mend()
        trial.flows_again(since=over, within=5)
        trial.reckon()


def test_killed_connections_cost_a_reconnect(world: World) -> None:
    with trial_of(world.fleet) as trial:
        for kind in ("normal", "pubsub", "normal"):
            world.fleet.client.client_kill_filter(_type=kind, skipme=True)
            trial.flows_again(since=time.monotonic(), within=5)
        trial.reckon()


def test_forgotten_scripts_are_sent_again(world: World) -> None:
    with trial_of(world.fleet) as trial:
        for _ in range(3):
            world.fleet.client.script_flush()
            trial.flows_again(since=time.monotonic(), within=5)
        assert trial.reckon() == 0
        assert trial.refused == trial.unanswered  # where the machine stands still for a second, nothing answers


def test_a_lost_group_is_made_again_under_load(world: World) -> None:
    with trial_of(world.fleet) as trial:
        world.fleet.client.xgroup_destroy("dtq:stream:default:p5", "workers")
        trial.flows_again(since=time.monotonic(), within=5)
        assert trial.reckon() == 0
        assert trial.refused == trial.unanswered  # where the machine stands still for a second, nothing answers


def test_a_full_server_refuses_tasks_and_goes_on_when_there_is_room(world: World) -> None:
    with trial_of(world.fleet) as trial:
        world.fleet.client.config_set("maxmemory", 1)
        over = lasting(1, trial)
        world.fleet.client.config_set("maxmemory", 0)
        trial.flows_again(since=over, within=5)
        assert trial.reckon() == 0


def test_a_read_only_server_refuses_tasks_and_goes_on_as_master(world: World) -> None:
    with trial_of(world.fleet) as trial:
        world.fleet.client.replicaof("127.0.0.1", "1")  # of a master that is not there
        with pytest.raises(StoreUnavailable, match="replica"):
            world.fleet.submit("effect")
        over = lasting(1, trial)
        world.fleet.client.replicaof("NO", "ONE")
        trial.flows_again(since=over, within=5)
        trial.reckon()


@pytest.mark.parametrize("how", [PrivateServer.kill, PrivateServer.stop], ids=["killed", "stopped"])
def test_a_server_that_restarts_has_every_task(world: World, how: Callable[[PrivateServer], None]) -> None:
    with trial_of(world.fleet) as trial:
        how(world.server)
        over = lasting(1, trial)
        world.server.start()
        trial.flows_again(since=over, within=5)
        trial.reckon()
