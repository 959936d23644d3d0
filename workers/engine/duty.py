"""Whether a worker takes tasks, only finishes what it has, or leaves."""

from __future__ import annotations

import asyncio

import structlog

from tasks_app.domain.wish import Wish

log = structlog.get_logger(__name__)


class Duty:
    """Changed on the loop only. A quiet worker goes on with everything but taking tasks, until it is wanted again.

    ``leaving`` is set for good once the worker is to stop, ``hurried`` once it is not to wait for what runs.
    ``off`` is set once it is to take no tasks, whatever the reason; when it takes tasks again there is a new one, so
    that who has missed the moment still finds the old one set. ``decided`` is set unless it is quiet, so that whoever
    waits for the end of that goes on when it takes tasks again and when it leaves.
    """

    def __init__(self) -> None:
        self.leaving = asyncio.Event()
        self.hurried = asyncio.Event()
        self.off = asyncio.Event()
        self.decided = asyncio.Event()
        self.decided.set()
        self._signalled = False

    @property
    def quiet(self) -> bool:
        """True while it stays and takes nothing; from any thread."""
        return not self.decided.is_set()

    def signal(self) -> None:
        """A signal came: the first lets what runs finish, the second does not wait for it."""
        if self._signalled:
            self.hurried.set()
        self._signalled = True
        self._leave()

    def follow(self, wish: Wish | None) -> bool:
        """Do what operators want by now, ``None`` being that it takes tasks; whether that changed anything.

        A wish to stop is the same wish each time that it is heard, so it hurries nothing. It cannot be taken back.
        """
        if self.leaving.is_set() or (wish is not Wish.STOP and self.quiet is (wish is Wish.QUIET)):
            return False
        if wish is Wish.STOP:
            self._leave()
        elif wish is Wish.QUIET:
            self.off.set()
            self.decided.clear()
        else:
            self.off = asyncio.Event()
            self.decided.set()
        log.info("WORKER_TOLD", wish=wish or Wish.RESUME)
        return True

    def _leave(self) -> None:
        self.leaving.set()
        self.off.set()
        self.decided.set()
