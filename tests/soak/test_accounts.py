"""The soak's accounts notice what they are there for. (The soak itself takes minutes: ``make soak``.)"""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks_app.domain.status import TaskStatus
from tests.soak import accounts, ledger
from tests.soak.book import Book
from tests.soak.installation import Blow

A = "a" * 32


@pytest.fixture
def book() -> Book:
    """One quick task, accepted and succeeded."""
    made = Book()
    made.accept(A, "quick")
    ended(made, TaskStatus.SUCCEEDED)
    return made


def ended(book: Book, status: TaskStatus) -> None:
    book.tasks[A].status = status
    book.close(A)


def runs_of(tmp_path: Path, *lines: str) -> dict[str, list[ledger.Run]]:
    path = tmp_path / "ledger"
    path.write_text("".join(f"{A} {line}\n" for line in lines))
    return ledger.read(path)


def test_a_task_that_is_open_lost_or_ended_wrongly_is_told(book: Book) -> None:
    assert accounts.every_task_ended(book).holds
    book.accept("b" * 32, "quick")
    assert not accounts.every_task_ended(book).holds
    book.close("b" * 32)
    ended(book, TaskStatus.EXPIRED)
    told = accounts.every_task_ended(book)
    assert not told.holds and f"{A} (quick) expired" in told.saw
    ended(book, TaskStatus.SUCCEEDED)
    book.vanished.append(A)
    assert not accounts.every_task_ended(book).holds


def test_a_success_needs_an_effect_and_an_effect_an_owner(book: Book, tmp_path: Path) -> None:
    done = runs_of(tmp_path, "1 start 7 10.0", "1 done 7 11.0")
    assert accounts.effects(book, done).holds
    assert not accounts.effects(book, {}).holds
    assert not accounts.effects(book, runs_of(tmp_path, "1 start 7 10.0")).holds
    assert not accounts.effects(book, done | {"c" * 32: done[A]}).holds
    book.tasks[A].at_least = 12.0
    assert not accounts.effects(book, done).holds


def test_what_expired_or_was_cancelled_in_time_may_not_have_run(book: Book, tmp_path: Path) -> None:
    book.tasks[A].kind = "with a time to live"
    ended(book, TaskStatus.EXPIRED)
    assert accounts.effects(book, {}).holds
    assert not accounts.effects(book, runs_of(tmp_path, "1 start 7 10.0")).holds


@pytest.mark.parametrize(
    ("first", "blow", "excused"),
    [
        (("1 start 7 10.0", "1 done 7 11.0"), None, False),
        (("1 start 7 10.0",), None, False),
        (("1 start 7 10.0", "1 done 7 11.0"), Blow(11.5, "worker 2", 7, "SIGKILL"), True),
        (("1 start 7 10.0", "1 done 7 11.0"), Blow(9.5, "worker 2", 7, "SIGKILL"), False),
        (("1 start 7 10.0", "1 done 7 11.0"), Blow(11.5, "worker 2", 8, "SIGKILL"), False),
        (("1 start 7 10.0",), Blow(11.5, "server", 0, "SIGKILL"), True),
        (("1 start 7 10.0", "1 retryable 7 11.0"), None, True),
        (("1 start 7 10.0", "1 failed 7 11.0"), None, False),
    ],
)
def test_a_second_run_needs_a_reason(
    book: Book, tmp_path: Path, first: tuple[str, ...], blow: Blow | None, excused: bool
) -> None:
    runs = runs_of(tmp_path, *first, "2 start 9 20.0", "2 done 9 21.0")
    reasons = ledger.Reasons([blow] if blow else [], runs, set())
    assert accounts.duplicates(book, runs, reasons).holds is excused


def test_an_old_attempt_may_begin_after_a_new_one_only_on_a_worker_that_was_struck(book: Book, tmp_path: Path) -> None:
    runs = runs_of(tmp_path, "2 start 7 10.0", "2 done 7 11.0", "1 start 9 12.0", "1 done 9 13.0")
    frozen, elsewhere = Blow(5.0, "worker 2", 9, "SIGSTOP"), Blow(5.0, "worker 3", 8, "SIGSTOP")
    assert accounts.duplicates(book, runs, ledger.Reasons([frozen], runs, set())).holds
    assert not accounts.duplicates(book, runs, ledger.Reasons([elsewhere], runs, set())).holds


def test_an_error_in_a_log_is_told_and_a_flood_as_well(tmp_path: Path) -> None:
    log = tmp_path / "web-0.log"
    log.write_text('{"level": "info", "event": "A"}\n')
    assert all(account.holds for account in accounts.logs_are_calm({"web": [log]}, 60))
    log.write_text('{"level": "error", "event": "B"}\n' * 100)
    assert [account.holds for account in accounts.logs_are_calm({"web": [log]}, 60)] == [False, False]
