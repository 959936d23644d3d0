"""The real server, as the simulator talks to it: told the time, and with its blocking pops waited for here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import redis
from redis.exceptions import ConnectionError, NoScriptError, ResponseError

from tests.chaos.clock import PUBLISHED, Clock
from tests.chaos.wire import Call, Command, Subscription

RINGS = frozenset({"submit", "claim", "giveback", "release", "runnow", "requeue", "resume"})
"""Scripts after which a doorbell may ring; the sweeps ring as well, for what a worker finds without a bell."""


@dataclass
class Parked:
    """A blocking pop that waits at the server, and a script behind it."""

    call: Call
    keys: tuple[Any, ...]
    until: float

    def answer(self, popped: Any) -> None:
        """Let the script go on. It may be struck like any other call, and the answer to both with it."""
        call = self.call

        def deliver(reply: Any, error: BaseException | None) -> None:
            if error is not None and not isinstance(error, ResponseError):
                call.deliver(None, error)
            else:
                call.deliver([popped, reply if error is None else error], None)

        call.caller.put(Call(call.caller, call.command.behind, deliver, call.left, arrived=True))


class Server:
    """``send`` is for what needs no decoding, and spares most of the library's time.

    ``scripts`` names each script by its text and by its digest.
    """

    def __init__(self, client: redis.Redis, clock: Clock) -> None:
        self.client = client
        self.scripts: Mapping[str, str] = {}
        self.parked: list[Parked] = []
        self._clock = clock
        self._lost: set[str] = set()
        self._subscribers: dict[bytes, Subscription] = {}
        self._connection: Any = client.connection_pool.get_connection()

    def send(self, *words: Any) -> Any:
        """One command. Raises what the server answers as an error."""
        self._connection.send_command(*words)
        return self._connection.read_response()

    def name(self, command: Command) -> str:
        """What a command is called: the script's name where it is one."""
        words = command.words
        return self.scripts.get(words[1], "?") if command.is_script else str(words[0])

    def empty(self) -> None:
        """Be as new."""
        self.send("FLUSHALL")
        self.parked, self._lost, self._subscribers = [], set(), {}

    def lose_scripts(self) -> None:
        """Answer as after SCRIPT FLUSH. The server keeps them: compiling all anew would take half of the time."""
        self._lost = set(self.scripts.values())

    def carry_out(self, command: Command) -> Any:
        """Do it. Raises what the server answers as an error."""
        if command.is_pipeline:
            pipe = self.client.pipeline(transaction=command.transaction)
            pipe.command_stack = list(command.stack)
            replies = pipe.execute(raise_on_error=command.raises)
            self._ring()
            return replies
        [(words, options)] = command.stack
        if words[0] == "SUBSCRIBE":
            self._subscribers[words[1].encode()] = options["subscription"]
            return None
        if words[0] == "TIME":
            return divmod(self._clock.server_us, 1_000_000)
        if not command.is_script:
            return self.client.execute_command(*words, **options)
        name = self.name(command)
        if name in self._lost:
            if words[0] == "EVALSHA":
                raise NoScriptError("NOSCRIPT")
            self._lost.remove(name)
        reply = self.send(*words[:2], 2, words[3], self._clock.server_us, *words[4:])
        if name in RINGS and not (name == "claim" and not reply[0]):  # only a full claim rings for the next
            self._ring()
        if name == "cancel":
            self._publish()
        return reply

    def _publish(self) -> None:
        published = self.send("LRANGE", PUBLISHED, 0, -1)
        self.send("DEL", PUBLISHED)
        for channel, message in zip(published[::2], published[1::2], strict=True):
            if channel in self._subscribers:
                self._subscribers[channel].deliver({"type": "message", "data": message})

    # --- blocking pops

    def park(self, call: Call) -> None:
        """Serve a blocking pop now or later."""
        *keys, timeout = call.command.words[1:]
        self.parked.append(Parked(call, tuple(keys), self._clock.now + float(timeout)))
        self._ring()

    def _ring(self) -> None:
        """First come first served, as the server does after each command."""
        waiting = [parked for parked in self.parked if not parked.call.left()]
        if not waiting:
            self.parked = []
            return
        pops = [("LMPOP", len(parked.keys), *parked.keys, "LEFT") for parked in waiting]
        self._connection.send_packed_command(self._connection.pack_commands(pops))
        replies = [self._connection.read_response() for _ in pops]
        self.parked = [parked for parked, popped in zip(waiting, replies, strict=True) if not popped]
        for parked, popped in zip(waiting, replies, strict=True):
            if popped:
                parked.answer((popped[0], popped[1][0]))

    def time_out(self) -> None:
        """Answer the pops that have waited long enough."""
        for parked in [parked for parked in self.parked if parked.until <= self._clock.now]:
            self.parked.remove(parked)
            parked.answer(None)

    def hang_up(self, why: str) -> None:
        """Break the connections of those who wait."""
        parked, self.parked = self.parked, []
        for one in parked:
            one.call.caller.disturbed(why)
            one.call.deliver(None, ConnectionError("down"))
        subscribers, self._subscribers = self._subscribers, {}
        for subscription in subscribers.values():
            subscription.hang_up()

    def forget(self, caller: Any) -> None:
        """A process is gone."""
        self.parked = [parked for parked in self.parked if parked.call.caller is not caller]

    def close(self) -> None:
        self.client.connection_pool.release(self._connection)
        self.client.close()
