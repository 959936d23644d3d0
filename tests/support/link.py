"""A link to a server that can be slow, frozen, half-open or cut, and that can lead to another server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

Target = Path | tuple[str, int]
"""A unix socket, or a host and a port."""


class Link:
    """A TCP proxy on a loopback port, on a thread of its own.

    What it does to bytes under way is decided when they arrive: ``delay_s`` holds each packet back; while frozen, all
    wait, and new connections as well; a half-open connection swallows whatever is sent and never says so.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self.delay_s = 0.0
        self._refuses = False
        self._pairs: set[_Pair] = set()
        self._loop = asyncio.new_event_loop()
        self._flows = asyncio.Event()
        self._flows.set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="link", daemon=True)
        self._thread.start()
        self.port: int = self._do(self._listen())

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._pairs)

    def freeze(self) -> None:
        self._do(self._set_flow(False))

    def thaw(self) -> None:
        self._do(self._set_flow(True))

    def go_half_open(self) -> None:
        """Both ends of what is open now will never hear of each other again; new connections work."""
        self._do(self._each("forget"))

    def cut(self, *, refuse: bool = False) -> None:
        """Reset what is open; with ``refuse`` whatever comes after as well, until ``mend``."""
        self._refuses = refuse
        self._do(self._each("reset"))

    def mend(self) -> None:
        self._refuses = False

    def lead_to(self, target: Target) -> None:
        """New connections go there, as when a name or a floating address moves. Those that are open stay."""
        self._target = target

    def close(self) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, step: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(step, self._loop).result(10)

    async def _listen(self) -> int:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def _end(self) -> None:
        self._server.close()
        self._flows.set()  # so that what waits for it can end
        await self._each("reset")
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)

    async def _set_flow(self, flows: bool) -> None:
        (self._flows.set if flows else self._flows.clear)()

    async def _each(self, what: str) -> None:
        for pair in list(self._pairs):
            getattr(pair, what)()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refuses:
            writer.transport.abort()
            return
        target = self._target
        try:
            there = await (
                asyncio.open_unix_connection(target) if isinstance(target, Path) else asyncio.open_connection(*target)
            )
        except OSError:
            writer.transport.abort()
            return
        pair = _Pair(writer, there[1])
        self._pairs.add(pair)
        try:
            await asyncio.gather(
                self._pump(pair, reader, there[1]),
                self._pump(pair, there[0], writer),
            )
        finally:
            pair.reset()
            self._pairs.discard(pair)

    async def _pump(self, pair: _Pair, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            last = 0.0
            while chunk := await reader.read(65_536):
                await self._flows.wait()
                if not pair.forgotten:
                    last = max(last + 1e-6, self._loop.time() + self.delay_s)  # in order, also when the delay ends
                    self._loop.call_at(last, writer.write, chunk)
        except OSError:
            pair.reset()
        if not pair.forgotten:  # one end hung up; a half-open link would not pass that on
            pair.reset()


class _Pair:
    """The two ends of one connection."""

    def __init__(self, *writers: asyncio.StreamWriter) -> None:
        self._writers = writers
        self.forgotten = False

    def forget(self) -> None:
        self.forgotten = True

    def reset(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
