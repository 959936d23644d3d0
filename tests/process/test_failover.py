"""Another server becomes the master: planned, by sentinels, in a cluster. Everybody follows without a restart."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tasks_app.domain.errors import CancelRequested, NotFound, StoreUnavailable
from tasks_app.domain.status import TaskStatus
from tests.process.fleet import ACTOR, Fleet
from tests.process.trial import trial_of
from tests.support.link import Link
from tests.support.node import Node
from tests.support.topology import SERVICE, Cluster, follow, in_step, sentinels_of
from tests.support.until import until

Make = Callable[..., Node]
pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def node() -> Iterator[Make]:
    """Makes servers on ports."""
    made: list[Node] = []

    def make(**options: str) -> Node:
        made.append(Node(**options))  # type: ignore[arg-type]  # only settings are asked for here
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def pair(node: Make) -> tuple[Node, Node]:
    """A master and its replica."""
    master, replica = node(), node()
    follow(replica, master)
    return master, replica


@pytest.fixture
def fleet_at(tmp_path: Path) -> Iterator[Callable[..., Fleet]]:
    """Makes a fleet on an address."""
    made: list[Fleet] = []

    def make(url: str, key_prefix: str = "dtq") -> Fleet:
        made.append(Fleet(f"{url}?socket_timeout=1", tmp_path, key_prefix=key_prefix))
        return made[-1]

    yield make
    for fleet in made:
        fleet.close()


def found(fleet: Fleet) -> bool:
    """True when the test's own client has found the new master, which takes it one refusal like everybody."""
    try:
        fleet.submit("effect")
    except StoreUnavailable:
        return False
    return True


def synced(master: Node, replica: Node) -> None:
    until(lambda: in_step(replica, master), what="a replica in step")


def test_a_planned_failover_loses_nothing(pair: tuple[Node, Node], fleet_at: Callable[..., Fleet]) -> None:
    """As docs/faults.md tells operators to do it, with an address that moves."""
    master, replica = pair
    link = Link(("127.0.0.1", master.port))
    fleet = fleet_at(link.url)
    fleet.worker()
    with trial_of(fleet) as trial:
        master.ask("CLIENT", "PAUSE", 10_000, "WRITE")
        synced(master, replica)
        replica.ask("REPLICAOF", "NO", "ONE")
        link.lead_to(("127.0.0.1", replica.port))
        master.ask("REPLICAOF", "127.0.0.1", replica.port)  # those still connected to it are told READONLY
        over = time.monotonic()
        master.ask("CLIENT", "UNPAUSE")
        trial.flows_again(since=over, within=5)
        until(lambda: found(fleet), what="the new master")
        trial.reckon()
    fleet.close()
    link.close()


def test_sentinels_move_everybody_to_the_new_master(
    pair: tuple[Node, Node], fleet_at: Callable[..., Fleet], request: pytest.FixtureRequest
) -> None:
    """A master that freezes, comes back as a replica, and takes over again from one that is killed."""
    first, second = pair
    sentinels = sentinels_of(first)
    for sentinel in sentinels:
        request.addfinalizer(sentinel.close)
    fleet = fleet_at(f"redis+sentinel://{','.join(s.address for s in sentinels)}/{SERVICE}")
    fleet.worker("--queues", "default")
    held = fleet.worker("--queues", "held", concurrency=1)
    with trial_of(fleet) as trial:
        holding = fleet.submit("effect_held", '{"seconds": 5}', queue="held")
        until(lambda: ("start", holding) in {entry[:2] for entry in trial.ledger()}, what="a held interpreter")
        trial.pause()
        synced(first, second)
        frozen_at = time.monotonic()
        first.send(signal.SIGSTOP)
        trial.resume()
        trial.flows_again(since=frozen_at, within=10)
        until(lambda: found(fleet), what="the new master")
        fleet.wait_for([holding], TaskStatus.SUCCEEDED, timeout=20)
        assert fleet.task(holding).attempt == 1, held.text  # the guard has followed as well
        first.send(signal.SIGCONT)
        follow(first, second)  # sentinels would see to that after some seconds
        trial.pause()
        synced(master=second, replica=first)
        killed_at = time.monotonic()
        second.kill()
        trial.resume()
        trial.flows_again(since=killed_at, within=10)
        until(lambda: found(fleet), what="the new master")
        trial.reckon(within=30)


def test_a_cluster_is_followed_from_node_to_node(
    fleet_at: Callable[..., Fleet], request: pytest.FixtureRequest
) -> None:
    cluster = Cluster("{dtq}")
    request.addfinalizer(cluster.close)
    fleet = fleet_at(cluster.others[0].url, "{dtq}")
    worker = fleet.worker()
    with trial_of(fleet) as trial:
        long = fleet.submit("effect", '{"seconds": 60}', queue="long")
        fleet.wait_for([long], TaskStatus.RUNNING)
        cluster.replica.ask("CLUSTER", "FAILOVER")
        until(lambda: cluster.replica.ask("ROLE")[0] == b"master", what="a new owner")
        trial.flows_again(since=time.monotonic(), within=5)
        until(lambda: found(fleet), what="the new master")
        with pytest.raises(CancelRequested):
            fleet.commands.cancel(long, ACTOR)
        fleet.wait_for([long], TaskStatus.CANCELLED)
        trial.pause()
        until(lambda: in_step(cluster.owner, cluster.replica), timeout=20, what="the old owner in step")
        killed_at = time.monotonic()
        cluster.replica.kill()
        trial.resume()
        trial.flows_again(since=killed_at, within=15)
        until(lambda: found(fleet), what="the new master")
        trial.reckon(within=30)
    assert worker.alive


def test_what_no_replica_had_heard_of_is_lost_in_an_unplanned_failover(
    node: Make, fleet_at: Callable[..., Fleet]
) -> None:
    master, replica = node(), node()
    link = Link(("127.0.0.1", master.port))
    follow(replica, master, link.port)
    fleet = fleet_at(master.url)
    kept = fleet.submit("effect")
    synced(master, replica)
    link.freeze()
    lost = fleet.submit("effect")
    master.kill()
    replica.ask("REPLICAOF", "NO", "ONE")
    link.close()
    survivor = fleet_at(replica.url)
    assert survivor.status(kept) is TaskStatus.QUEUED
    with pytest.raises(NotFound):
        survivor.status(lost)


def test_a_master_that_waits_for_replicas_refuses_tasks_without_them(
    node: Make, fleet_at: Callable[..., Fleet]
) -> None:
    fleet = fleet_at(node(min_replicas_to_write="1").url)
    with pytest.raises(StoreUnavailable, match="lacks the replicas"):
        fleet.submit("effect")
    assert not any(fleet.queries.counts().values())
