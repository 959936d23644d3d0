"""Purges, which the store does in bounded steps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

from tasks_app.store.commands import Purged

REQUEST_S = 2.0
"""How long one request goes on purging; who sent it repeats it while something remains."""


def purge_steps(step: Callable[[], Purged], seconds: float = math.inf) -> Iterator[Purged]:
    """Repeat ``step`` until nothing remains, it ends nothing any more, or ``seconds`` have passed.

    Yields how far it has come after each step, at least once: how many ended in all, and how many are left.
    """
    deadline = time.monotonic() + seconds
    done = 0
    while True:
        last = step()
        done += last.done
        yield Purged(done, last.remaining)
        # A step that ends nothing while something is left meets records that only their own removal can end.
        if not last.done or not last.remaining or time.monotonic() >= deadline:
            return
