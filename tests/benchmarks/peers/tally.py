"""How handlers of every entrant report that they ran: a counter and the time of the last run, in shared memory.

Runs inside the entrants' environments, so it needs nothing but the standard library. Each process has a file of its
own in the folder that ``BENCH_TALLY`` names.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

FOLDER_VARIABLE = "BENCH_TALLY"
_RECORD = struct.Struct("=qq")
_lock = threading.Lock()
_opened: tuple[int, mmap.mmap] | None = None
_count = 0


def ran() -> None:
    """Count one run of a handler in this process, and remember when it was."""
    global _count, _opened
    now = time.monotonic_ns()
    with _lock:
        pid = os.getpid()
        if _opened is None or _opened[0] != pid:  # the first run, or the first one after a fork
            _opened = (pid, _open(Path(os.environ[FOLDER_VARIABLE], str(pid))))
            _count = 0
        _count += 1
        _RECORD.pack_into(_opened[1], 0, _count, now)


def _open(path: Path) -> mmap.mmap:
    with path.open("wb") as file:
        file.write(bytes(_RECORD.size))
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), _RECORD.size)


@dataclass
class Tallies:
    """What the processes that share ``folder`` have counted, as the harness and producers read it."""

    folder: Path
    _maps: dict[str, mmap.mmap] = field(default_factory=dict)

    def per_process(self) -> list[int]:
        """The counts of every process that ran anything."""
        return [_RECORD.unpack_from(view, 0)[0] for view in self._views()]

    def total(self) -> int:
        """How many handlers have run."""
        return sum(self.per_process())

    def last_ns(self) -> int:
        """When the last handler began, on the monotonic clock that all processes of a host share."""
        return max((_RECORD.unpack_from(view, 0)[1] for view in self._views()), default=0)

    def _views(self) -> list[mmap.mmap]:
        for path in self.folder.iterdir():
            if path.name not in self._maps and path.stat().st_size == _RECORD.size:
                with path.open("rb") as file:
                    self._maps[path.name] = mmap.mmap(file.fileno(), _RECORD.size, access=mmap.ACCESS_READ)
        return list(self._maps.values())
