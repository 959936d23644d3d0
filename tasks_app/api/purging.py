"""Purges, which the store does in bounded steps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from tasks_app.store.commands import Purged


def purge(step: Callable[[], Purged], seconds: float = math.inf) -> Purged:
    """Repeat ``step`` until nothing remains, it ends nothing any more, or ``seconds`` have passed; the sum of all."""
    deadline = time.monotonic() + seconds
    last = step()
    done = last.done
    # A step that ends nothing while something is left meets records that only their own removal can end.
    while last.done and last.remaining and time.monotonic() < deadline:
        last = step()
        done += last.done
    return Purged(done, last.remaining)
