"""Several servers that belong together: a replica, three sentinels, a cluster."""

from __future__ import annotations

from redis.crc import key_slot

from tests.support.node import Node
from tests.support.until import until

SERVICE = "main"
SLOTS = 16_384


def follow(replica: Node, master: Node, port: int = 0) -> None:
    """Make one a replica of the other, by way of ``port`` if there is one, and wait until it has everything."""
    replica.ask("REPLICAOF", "127.0.0.1", port or master.port)
    until(lambda: in_step(replica, master), timeout=20, what="a replica in step")


def in_step(replica: Node, master: Node) -> bool:
    """True when the replica has heard all that the master has said."""
    ours, theirs = replica.ask("INFO", "replication"), master.ask("INFO", "replication")
    linked = ours["role"] == "slave" and ours["master_link_status"] == "up"
    return bool(linked and ours["slave_repl_offset"] >= theirs["master_repl_offset"])


def sentinels_of(master: Node, *, down_after_ms: int = 2000) -> list[Node]:
    """Three sentinels that agree on who is the master of ``SERVICE``; two of them decide."""
    watch = "\n".join(
        (
            f"sentinel monitor {SERVICE} 127.0.0.1 {master.port} 2",
            f"sentinel down-after-milliseconds {SERVICE} {down_after_ms}",
            f"sentinel failover-timeout {SERVICE} 3000",
        )
    )
    made = [Node(sentinel=True, more=watch) for _ in range(3)]

    def agreed(sentinel: Node) -> bool:
        words = sentinel.ask("SENTINEL", "MASTER", SERVICE)
        state = dict(zip(words[::2], words[1::2], strict=True))
        return bool((state[b"num-other-sentinels"], state[b"num-slaves"]) == (b"2", b"1"))

    until(lambda: all(agreed(sentinel) for sentinel in made), timeout=20, what="sentinels that know each other")
    return made


class Cluster:
    """Three masters that share the slots, and a replica of the one that owns ``key``'s."""

    def __init__(self, key: str) -> None:
        self.masters = [self._node() for _ in range(3)]
        self.replica = self._node()
        step = SLOTS // 3 + 1
        for number, node in enumerate(self.masters):
            node.ask("CLUSTER", "ADDSLOTSRANGE", number * step, min((number + 1) * step, SLOTS) - 1)
        self.owner = self.masters[key_slot(key.encode()) // step]
        self.others = [node for node in self.masters if node is not self.owner]
        for node in (*self.masters[1:], self.replica):
            node.ask("CLUSTER", "MEET", "127.0.0.1", self.masters[0].port)
        until(self._is_whole, timeout=20, what="a whole cluster")
        self.replica.ask("CLUSTER", "REPLICATE", self.owner.ask("CLUSTER", "MYID").decode())
        until(lambda: in_step(self.replica, self.owner), timeout=20, what="a replica in step")
        until(self._is_whole, timeout=20, what="a whole cluster")

    @staticmethod
    def _node() -> Node:
        return Node(cluster_enabled="yes", cluster_node_timeout="2000", repl_ping_replica_period="1")

    def _is_whole(self) -> bool:
        return all(
            (state := node.ask("CLUSTER", "INFO").decode()) and "state:ok" in state and "known_nodes:4" in state
            for node in (*self.masters, self.replica)
        )

    def close(self) -> None:
        for node in (*self.masters, self.replica):
            node.close()
