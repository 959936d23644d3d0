"""Database connections around tasks, on connections that break as real ones do."""

from __future__ import annotations

import asyncio
import threading

import pytest
from asgiref.sync import sync_to_async
from django.db import InterfaceError
from structlog.testing import capture_logs

from workers import database
from workers.database import OnLoop, in_thread


class Connection:
    """A connection as Django wraps it."""

    def __init__(self, alias: str, *, usable: bool = True, obsolete: bool = False, close_breaks: bool = False) -> None:
        self.alias = alias
        self.connection: object | None = object()
        self._usable = usable
        self._obsolete = obsolete
        self._close_breaks = close_breaks

    def is_usable(self) -> bool:
        return self._usable

    def close(self) -> None:
        self.connection = None
        if self._close_breaks:
            raise InterfaceError("already closed")

    def close_if_unusable_or_obsolete(self) -> None:
        if self._obsolete or not self._usable:
            self.close()

    @property
    def open(self) -> bool:
        return self.connection is not None


class Connections:
    """Django's connections of one thread."""

    def __init__(self, *made: Connection) -> None:
        self._made = {connection.alias: connection for connection in made}

    def all(self, initialized_only: bool = False) -> list[Connection]:
        return list(self._made.values())

    def __getitem__(self, alias: str) -> Connection:
        return self._made[alias]


def use(monkeypatch: pytest.MonkeyPatch, *made: Connection) -> None:
    monkeypatch.setattr(database, "connections", Connections(*made))


def test_a_connection_that_died_meanwhile_is_not_met_by_the_next_task(monkeypatch: pytest.MonkeyPatch) -> None:
    dead, alive = Connection("dead", usable=False), Connection("alive")
    use(monkeypatch, dead, alive)
    with in_thread():
        assert not dead.open
        assert alive.open


def test_a_connection_past_its_age_is_closed_after_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    old, young = Connection("old", obsolete=True), Connection("young")
    use(monkeypatch, old, young)
    with in_thread():
        assert old.open
    assert not old.open
    assert young.open


@pytest.mark.parametrize("options", [{"usable": False}, {"obsolete": True}])
def test_a_connection_that_cannot_even_be_closed_does_not_fail_the_task(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, bool]
) -> None:
    use(monkeypatch, Connection("x", close_breaks=True, **options))
    with capture_logs() as lines, in_thread():
        pass
    assert "DATABASE_CONNECTION_DROPPED" in {line["event"] for line in lines}


async def test_each_coroutine_has_a_thread_of_its_own_and_closes_what_it_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[int] = []
    closed: list[int] = []

    def ask() -> None:
        threads.append(threading.get_ident())
        database._note_opened()

    monkeypatch.setattr(database, "_close_all", lambda: closed.append(threading.get_ident()))

    async def handler() -> None:
        async with OnLoop():
            await sync_to_async(ask)()
            await sync_to_async(ask)()

    await asyncio.gather(handler(), handler())
    assert len(set(threads)) == 2
    assert sorted(closed) == sorted(set(threads))
    assert threading.get_ident() not in threads


async def test_a_coroutine_without_database_costs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden() -> None:
        raise AssertionError("nothing was opened")

    monkeypatch.setattr(database, "_close_all", forbidden)
    before = threading.active_count()
    async with OnLoop():
        assert threading.active_count() == before


def test_opening_outside_of_a_task_is_nobodys_business() -> None:
    database._note_opened()
