"""Progress and log lines on their way from handlers to the store."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import structlog

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.store.leases import Leases, Note

log = structlog.get_logger(__name__)

FLUSH_EVERY_S = 0.2
MAX_LINES_PER_FLUSH = 200
MAX_NOTES_PER_CALL = 100
MAX_LINES_PER_CALL = 1000


class _Pending:
    __slots__ = ("dropped", "lines", "note", "progress")

    def __init__(self) -> None:
        self.progress: float | None = None
        self.note: str | None = None
        self.lines: list[str] = []
        self.dropped = 0


class NoteBook:
    """Collects what handlers tell, from any thread, and writes it five times a second at most.

    Of progress only the latest counts. A task that logs faster than ``MAX_LINES_PER_FLUSH`` lines per write loses the
    lines above it, and a line says how many, so a runaway handler fills neither memory nor Redis.
    """

    def __init__(self, leases: Leases, worker_id: str, loop: asyncio.AbstractEventLoop) -> None:
        self._leases = leases
        self._worker_id = worker_id
        self._loop = loop
        self._lock = threading.Lock()
        self._writing = asyncio.Lock()
        self._pending: dict[tuple[str, int], _Pending] = {}
        self._some = asyncio.Event()

    def __call__(
        self, task_id: str, attempt: int, *, progress: float | None, note: str | None, line: str | None
    ) -> None:
        """Take a note in; the sink of every ``TaskContext``."""
        with self._lock:
            first = not self._pending
            pending = self._pending.setdefault((task_id, attempt), _Pending())
            if progress is not None:
                pending.progress = progress
                pending.note = note
            if line is not None:
                if len(pending.lines) < MAX_LINES_PER_FLUSH:
                    pending.lines.append(line)
                else:
                    pending.dropped += 1
        if first and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._some.set)

    async def run_once(self) -> None:
        """Wait until there is something, let more gather for a moment, write it."""
        await self._some.wait()
        await asyncio.sleep(FLUSH_EVERY_S)
        await self.flush()

    async def flush(self) -> None:
        """Write everything taken in so far, also what another flush is just writing. Costs nothing when there is none.

        Raises:
            StoreUnavailable: what could not be written is kept.
        """
        if not self._pending and not self._writing.locked():
            return
        async with self._writing:
            with self._lock:
                taken, self._pending = self._pending, {}
                self._some.clear()
            notes = [_to_note(key, pending) for key, pending in taken.items()]
            start = 0
            while start < len(notes):
                batch = _batch(notes[start : start + MAX_NOTES_PER_CALL])
                try:
                    await self._leases.note(self._worker_id, batch)
                except StoreUnavailable:
                    self._put_back(dict(list(taken.items())[start:]))
                    raise
                except Exception:  # a bug of ours must not hold up the outcomes, which are written after the notes
                    log.exception("NOTES_DROPPED", notes=len(notes) - start)
                    return
                start += len(batch)

    def _put_back(self, unwritten: dict[tuple[str, int], _Pending]) -> None:
        with self._lock:
            for key, old in unwritten.items():
                newer = self._pending.get(key)
                if newer is not None:
                    room = MAX_LINES_PER_FLUSH - len(old.lines)
                    old.lines.extend(newer.lines[:room])
                    old.dropped += newer.dropped + max(0, len(newer.lines) - room)
                    if newer.progress is not None:
                        old.progress, old.note = newer.progress, newer.note
                self._pending[key] = old
            self._some.set()


def _batch(notes: Sequence[Note]) -> Sequence[Note]:
    """The first of them, as many as one call may carry lines for."""
    lines = 0
    for index, note in enumerate(notes):
        lines += len(note.lines)
        if lines >= MAX_LINES_PER_CALL:
            return notes[: index + 1]
    return notes


def _to_note(key: tuple[str, int], pending: _Pending) -> Note:
    lines = tuple(pending.lines)
    if pending.dropped:
        lines += (f"... {pending.dropped} lines left out: too many at once",)
    return Note(key[0], key[1], pending.progress, pending.note, lines)
