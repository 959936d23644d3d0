"""Django's database connections around each task, so that no task meets one that has died meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType

import structlog
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import DatabaseError, InterfaceError, connections
from django.db.backends.signals import connection_created

from workers.engine.executor import Surroundings

log = structlog.get_logger(__name__)


@contextmanager
def in_thread() -> Iterator[None]:
    """Around a ``def`` handler, in its thread: connections that are broken, too old or gone are closed.

    One that ``CONN_MAX_AGE`` keeps open is asked before the handler whether it still works: the server may have dropped
    it since the last task, and this one must not pay for that.
    """
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None and not connection.is_usable():
            _close(connection.alias)
    try:
        yield
    finally:
        for connection in connections.all(initialized_only=True):
            try:
                connection.close_if_unusable_or_obsolete()
            except (DatabaseError, InterfaceError) as error:
                log.info("DATABASE_CONNECTION_DROPPED", alias=connection.alias, error=type(error).__name__)


class OnLoop:
    """Around a coroutine: its database work (``sync_to_async``) gets a thread of its own, closed with what it opened.

    Without that, all coroutines of a process would share one thread and its connections, and wait for each other. A
    coroutine that opens none pays for two assignments.
    """

    __slots__ = ("_context", "opened")

    def __init__(self) -> None:
        self.opened = False
        self._context = ThreadSensitiveContext()

    async def __aenter__(self) -> None:
        _current.set(self)
        await self._context.__aenter__()  # type: ignore[no-untyped-call]  # asgiref has no types here

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self.opened:
                await sync_to_async(_close_all)()
        finally:
            await self._context.__aexit__(kind, error, trace)  # type: ignore[no-untyped-call]  # as above


_current: ContextVar[OnLoop | None] = ContextVar("dtq_task_on_loop", default=None)


def _note_opened(**kwargs: object) -> None:
    # Runs in the thread that opened the connection, to which sync_to_async has carried the coroutine's context.
    task = _current.get()
    if task is not None:
        task.opened = True


def _close_all() -> None:
    for connection in connections.all(initialized_only=True):
        _close(connection.alias)


def _close(alias: str) -> None:
    try:
        connections[alias].close()
    except (DatabaseError, InterfaceError) as error:
        log.info("DATABASE_CONNECTION_DROPPED", alias=alias, error=type(error).__name__)


def surroundings() -> Surroundings:
    """What ``runworker`` puts around each handler."""
    connection_created.connect(_note_opened, weak=False)
    return Surroundings(in_thread=in_thread, on_loop=OnLoop)
