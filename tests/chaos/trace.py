"""What happened in a schedule, kept cheaply and written out only when somebody wants to read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.chaos.clock import Clock
from tests.chaos.wire import Call

MAX_CHARS = 150


class Trace:
    """One line an event: simulated seconds, process, command, what befell it, reply."""

    def __init__(self) -> None:
        self._events: list[tuple[int, str, str, tuple[Any, ...], str, list[Any]]] = []

    def call(self, clock: Clock, call: Call, name: str, why: str) -> None:
        words = call.command.words
        args = words[4:] if words[0] in {"EVALSHA", "EVAL"} else words[1:]
        self._events.append((clock.us, call.caller.name, name, args, why, []))

    def reply(self, reply: Any) -> None:
        """What the last call was answered."""
        self._events[-1][5].append(reply)

    def note(self, clock: Clock, text: str) -> None:
        self._events.append((clock.us, "", "", (), text, []))

    @property
    def calls(self) -> int:
        """How many calls were made."""
        return len(self._events)

    def lines(self) -> Iterator[str]:
        for us, caller, name, args, why, replies in self._events:
            told = f"[{why}] " if why else ""
            answer = f" -> {_short(replies[0])}" if replies else ""
            yield f"{us / 1e6:10.6f} {caller:8} {told}{name} {_short(args)}{answer}"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}..."
