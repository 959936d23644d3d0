"""Django's database connections around each task, so that no task meets one that has died meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable

from asgiref.sync import sync_to_async
from django.db import connections
from django.db.backends.signals import connection_created

from workers.engine.executor import Surroundings


def tidy() -> None:
    """Close this thread's connections that are broken, too old, or gone at the server's end.

    A connection that ``CONN_MAX_AGE`` keeps open is asked whether it still works: the server may have dropped it since
    the last task, and the next one must not pay for that.
    """
    for connection in connections.all(initialized_only=True):
        if connection.in_atomic_block:
            connection.close()  # a handler that was stopped in a transaction: what it had not committed must not stay
        else:
            connection.close_if_unusable_or_obsolete()
        if connection.connection is not None and not connection.is_usable():
            connection.close()


class _OnLoop:
    """The same for coroutines, whose database work runs in the one thread that ``sync_to_async`` uses.

    The hop into that thread is only worth it once some connection has been opened in this process.
    """

    def __init__(self) -> None:
        self._opened = False
        connection_created.connect(self._note, weak=False)

    def _note(self, **kwargs: object) -> None:
        self._opened = True

    def __call__(self) -> Awaitable[None] | None:
        return sync_to_async(tidy, thread_sensitive=True)() if self._opened else None


def surroundings() -> Surroundings:
    """What ``runworker`` wants done around each task."""
    return Surroundings(in_thread=tidy, on_loop=_OnLoop())
