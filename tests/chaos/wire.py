"""Redis clients that send nothing themselves: each command becomes a call that the simulator carries out, or not."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import redis
import redis.asyncio
import redis.client
from redis.exceptions import ConnectionError

from tests.chaos.running import Strand

SOCKET_TIMEOUT_S = 5.0
# Nothing connects to these: they hold what clients ask a pool for.
_POOL = redis.ConnectionPool(socket_timeout=SOCKET_TIMEOUT_S)
_ASYNC_POOL = redis.asyncio.ConnectionPool(socket_timeout=SOCKET_TIMEOUT_S)


Deliver = Callable[[Any, BaseException | None], None]


class Command:
    """One round trip: a command or a pipeline of some."""

    def __init__(self, stack: list[Any], *, pipeline: bool, transaction: bool = False, raises: bool = True) -> None:
        self.stack = stack
        self.is_pipeline = pipeline
        self.transaction = transaction
        self.raises = raises

    @property
    def words(self) -> tuple[Any, ...]:
        """The command, or the first of the pipeline's."""
        words: tuple[Any, ...] = self.stack[0][0]
        return words

    @property
    def is_script(self) -> bool:
        return self.words[0] in {"EVALSHA", "EVAL"}

    @property
    def waits(self) -> bool:
        """True of one that stands at the server until it can be carried out."""
        return bool(self.words[0] == "BLPOP")

    @property
    def behind(self) -> Command:
        """What stands behind a wait."""
        [_, behind] = self.stack
        return Command([behind], pipeline=False)


class Call:
    """A command on its way. ``deliver`` hands its caller a reply or an error; a caller that left gets neither.

    ``arrived``: it is at the server already, which carries it out for a frozen caller, too.
    """

    def __init__(
        self, caller: Any, command: Command, deliver: Deliver, left: Callable[[], bool], *, arrived: bool = False
    ) -> None:
        self.caller = caller
        self.command = command
        self.deliver = deliver
        self.left = left
        self.arrived = arrived
        self.put_at = 0.0


class Table(Protocol):
    """Where calls are put; a simulated process."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop: ...

    def put(self, call: Call) -> None: ...


def ask(table: Table, command: Command) -> Awaitable[Any]:
    """Put a command on the table from a loop."""
    future: asyncio.Future[Any] = table.loop.create_future()

    def deliver(reply: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(reply)
        else:
            future.set_exception(error)

    table.put(Call(table, command, deliver, future.done))
    return future


def ask_and_wait(table: Table, command: Command) -> Any:
    """Put a command on the table from a strand."""
    strand = Strand.current()
    table.put(Call(table, command, strand.reply, lambda: False))
    return strand.receive()


class Subscription:
    """What the control channel has of the library's ``PubSub``. A connection that broke says so for ever."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._messages: deque[dict[str, Any]] = deque()
        self._broken = False
        self._news = asyncio.Event()

    async def subscribe(self, channel: str) -> None:
        await ask(self._table, Command([(("SUBSCRIBE", channel), {"subscription": self})], pipeline=False))

    async def ping(self) -> None:
        await ask(self._table, Command([(("PING",), {})], pipeline=False))
        self.deliver({"type": "pong", "data": b""})

    async def get_message(self, timeout: float) -> dict[str, Any] | None:  # noqa: ASYNC109 - as the library's
        if not self._messages and not self._broken:
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), timeout)
            except TimeoutError:
                return None
        if self._broken:
            raise ConnectionError("down")
        return self._messages.popleft()

    async def aclose(self) -> None:
        self._broken = True

    def deliver(self, message: dict[str, Any]) -> None:
        self._messages.append(message)
        self._news.set()

    def hang_up(self) -> None:
        self._broken = True
        self._news.set()


class AsyncClient(redis.asyncio.Redis):
    """For code on a loop."""

    def __init__(self, table: Table) -> None:
        super().__init__(connection_pool=_ASYNC_POOL)
        self._table = table

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        return await ask(self._table, Command([(args, options)], pipeline=False))

    def pubsub(self, **options: Any) -> Any:
        return Subscription(self._table)

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> AsyncPipeline:
        return AsyncPipeline(self._table, self.connection_pool, self.response_callbacks, transaction, shard_hint)


class AsyncPipeline(redis.asyncio.client.Pipeline):
    """Many commands in one call, for code on a loop."""

    def __init__(self, table: Table, pool: Any, callbacks: Any, transaction: bool, shard_hint: Any) -> None:
        super().__init__(pool, callbacks, transaction, shard_hint)
        self._whole = transaction
        self._table = table

    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        command = Command(self.command_stack, pipeline=True, transaction=self._whole, raises=raise_on_error)
        replies: list[Any] = await ask(self._table, command) if self.command_stack else []
        self.command_stack = []
        return replies


class BlockingClient(redis.Redis):
    """For code on a strand."""

    def __init__(self, table: Table) -> None:
        super().__init__(connection_pool=_POOL)
        self._table = table

    def execute_command(self, *args: Any, **options: Any) -> Any:
        return ask_and_wait(self._table, Command([(args, options)], pipeline=False))

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> BlockingPipeline:
        return BlockingPipeline(self._table, self.connection_pool, self.response_callbacks, transaction, shard_hint)


class BlockingPipeline(redis.client.Pipeline):
    """Many commands in one call."""

    def __init__(self, table: Table, pool: Any, callbacks: Any, transaction: bool, shard_hint: Any) -> None:
        super().__init__(pool, callbacks, transaction, shard_hint)
        self._whole = transaction
        self._table = table

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        command = Command(self.command_stack, pipeline=True, transaction=self._whole, raises=raise_on_error)
        replies: list[Any] = ask_and_wait(self._table, command) if self.command_stack else []
        self.command_stack = []
        return replies
