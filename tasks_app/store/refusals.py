"""Refused submissions, counted for the whole fleet at the price of one small call a second to a process."""

from __future__ import annotations

import atexit
import threading
from collections import Counter

import redis
import structlog

from tasks_app.domain.config import Config
from tasks_app.domain.errors import StoreUnavailable
from tasks_app.store.scripts import Scripts

log = structlog.get_logger(__name__)

FLUSH_AFTER_S = 1.0
RETRY_AFTER_S = 5.0


class Refusals:
    """Counts in this process and adds to the fleet's counters a second later, in the background.

    A client that is refused is often one of many, so a refusal costs Redis nothing by itself; and what was refused
    because Redis was away is counted when it is back. A process that is killed takes its last second along.
    """

    def __init__(self, client: redis.Redis, config: Config, *, flush_after_s: float = FLUSH_AFTER_S) -> None:
        self._scripts = Scripts(client, config)
        self._flush_after_s = flush_after_s
        self._lock = threading.Lock()
        self._pending: Counter[str] = Counter()
        self._timer: threading.Timer | None = None
        atexit.register(self.flush)

    def count(self, code: str, number: int = 1) -> None:
        """``number`` submissions were refused with ``code``. Never waits for Redis."""
        with self._lock:
            self._pending[code.lower()] += number
            if self._timer is None:
                self._start_timer(self._flush_after_s)

    def flush(self) -> None:
        """Write what is pending; what Redis does not take stays pending, and is tried again."""
        with self._lock:
            pending, self._pending = self._pending, Counter()
            self._timer = None
        if not pending:
            return
        try:
            self._scripts.run("refused", *(part for item in pending.items() for part in item))
        except StoreUnavailable as error:
            log.debug("REFUSALS_NOT_COUNTED_YET", error=str(error), refused=pending.total())
            with self._lock:
                self._pending.update(pending)
                if self._timer is None:
                    self._start_timer(RETRY_AFTER_S)

    def close(self) -> None:
        """Drop what is pending and write nothing more."""
        atexit.unregister(self.flush)
        with self._lock:
            self._pending.clear()
            if self._timer is not None:
                self._timer.cancel()

    def _start_timer(self, after_s: float) -> None:
        self._timer = threading.Timer(after_s, self.flush)
        self._timer.daemon = True
        self._timer.start()
