"""Which server takes the writes: a fixed one, the master that sentinels name, or the owner of a cluster's slot.

A route is asked before each connection is made, so whoever reconnects finds the new master. Nothing else follows
failovers: see docs/decisions/0012-following-the-master.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.exceptions import ConnectionError, RedisError, ResponseError
from redis.retry import Retry

Node = tuple[str, int]

_ASK_TIMEOUT_S = 1.0
"""A sentinel or a node that is frozen must not hold up those behind it for long."""
_TIMEOUTS = ("socket_timeout", "socket_connect_timeout")
_DOWN = frozenset({"s_down", "o_down", "disconnected"})


class MasterUnknown(ConnectionError):
    """Nobody who could be asked knows a master at the moment; the message says who was asked."""


class Route:
    """One server at a fixed place.

    ``epoch`` counts the servers that turned out wrong: gone, silent, a replica now. A connection made in an earlier one
    is not used again, so that one thread's failure spares all others theirs.
    """

    def __init__(self) -> None:
        self.epoch = 0

    def distrust(self, epoch: int) -> None:
        """A connection of ``epoch`` got an answer that a master would not give, or none."""
        if epoch == self.epoch:
            self.epoch += 1

    def locate(self) -> Node | None:
        """Where to connect to; ``None``: where the address says.

        Raises:
            MasterUnknown: try again soon.
        """
        return None

    async def locate_async(self) -> Node | None:
        """The same on a running loop."""
        return None


class _Asking(Route):
    """Asks ``nodes`` in turn, beginning with the one that answered last."""

    question: tuple[str, ...]
    nobody: str

    def __init__(self, nodes: tuple[Node, ...], options: Mapping[str, Any], *, tls: bool) -> None:
        super().__init__()
        self._nodes = deque(nodes)
        timeouts = {name: min(_ASK_TIMEOUT_S, options.get(name, _ASK_TIMEOUT_S)) for name in _TIMEOUTS}
        self._options = {**options, **timeouts, "ssl": tls, "protocol": 2}

    def distrust(self, epoch: int) -> None:
        if epoch == self.epoch:
            self._nodes.rotate(-1)  # whoever named that server may be behind the times
        super().distrust(epoch)

    def locate(self) -> Node | None:
        for host, port in self._turns():
            with redis.Redis(host=host, port=port, retry=Retry(NoBackoff(), 0), **self._options) as client:
                try:
                    reply = client.execute_command(*self.question)
                    found = self._read(reply, host)
                except RedisError as error:
                    found = self._refused(error, (host, port))
            if found is not None:
                return found
        raise MasterUnknown(self.nobody)

    async def locate_async(self) -> Node | None:
        for host, port in self._turns():
            retry = AsyncRetry(NoBackoff(), 0)
            async with redis.asyncio.Redis(host=host, port=port, retry=retry, **self._options) as client:
                try:
                    reply = await client.execute_command(*self.question)  # type: ignore[no-untyped-call]
                    found = self._read(reply, host)
                except RedisError as error:
                    found = self._refused(error, (host, port))
            if found is not None:
                return found
        raise MasterUnknown(self.nobody)

    def _turns(self) -> Iterator[Node]:
        for _ in range(len(self._nodes)):
            yield self._nodes[0]
            self._nodes.rotate(-1)

    def _read(self, reply: Any, host: str) -> Node | None:
        """The master that ``reply`` of the node at ``host`` names, if any."""
        raise NotImplementedError

    def _refused(self, error: RedisError, node: Node) -> Node | None:
        """The master all the same, although ``node`` answered with ``error``; mostly none."""
        return None


class SentinelRoute(_Asking):
    """The master of a service, by the word of the first sentinel that knows of one that lives."""

    nobody = "no sentinel knows a master that is up"

    def __init__(self, nodes: tuple[Node, ...], service: str, options: Mapping[str, Any], *, tls: bool) -> None:
        super().__init__(nodes, options, tls=tls)
        self.question = ("SENTINEL", "MASTER", service)

    def _read(self, reply: Any, host: str) -> Node | None:
        state = {name.decode(): value.decode() for name, value in zip(reply[::2], reply[1::2], strict=True)}
        if _DOWN & set(state["flags"].split(",")):
            return None
        return state["ip"], int(state["port"])


class ClusterRoute(_Asking):
    """The owner of the one slot that all keys share."""

    nobody = "no node of the cluster answers for the queue's slot"
    question = ("CLUSTER", "SLOTS")

    def __init__(self, nodes: tuple[Node, ...], key_prefix: str, options: Mapping[str, Any], *, tls: bool) -> None:
        super().__init__(nodes, options, tls=tls)
        self._slot = key_slot(key_prefix.encode())

    def _read(self, reply: Any, host: str) -> Node | None:
        owner = None
        for first, last, *servers in reply:
            # An empty name stands for the one that was asked.
            nodes = [((name or b"").decode() or host, port) for name, port, *_ in servers]
            self._nodes.extend(node for node in nodes if node not in self._nodes)
            if first <= self._slot <= last:
                owner = nodes[0]
        return owner

    def _refused(self, error: RedisError, node: Node) -> Node | None:
        alone = isinstance(error, ResponseError) and "cluster support disabled" in str(error)
        return node if alone else None
