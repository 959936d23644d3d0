"""Submitting from Python code of the same project, and where handlers come from."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis
from django.db import transaction

from tasks_app import conf, runtime
from tasks_app.domain.errors import ConfigError, ValidationError
from tasks_app.domain.snapshot import TaskFilter
from tasks_app.domain.status import TaskStatus
from tasks_app.handlers.errors import DuplicateTask
from tasks_app.handlers.registry import Registry
from tasks_app.store.commands import Commands
from tasks_app.store.queries import Queries
from tests.support.forgetting import forget


@pytest.fixture
def queries(redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Queries]:
    """This process's runtime on the tests' server, with no handlers but the test's own."""
    monkeypatch.setenv("DTQ_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(runtime, "default_registry", Registry())
    forget()
    runtime.registry.cache_clear()
    original = runtime.client
    monkeypatch.setattr(runtime, "client", lambda: redis_client)
    monkeypatch.setattr(runtime.client, "cache_clear", original.cache_clear, raising=False)
    yield runtime.queries()
    monkeypatch.undo()
    forget()
    runtime.registry.cache_clear()


def test_a_task_is_submitted_with_the_handlers_defaults(queries: Queries) -> None:
    runtime.registry().task("mail", queue="mails", priority=8)(lambda payload, ctx: None)
    receipt = runtime.submit_task("mail", {"to": "a"}, max_attempts=2)
    task = queries.task(receipt.task.id)
    assert (task.queue, task.priority, task.max_attempts, task.payload_json) == ("mails", 8, 2, '{"to":"a"}')
    assert task.status is TaskStatus.QUEUED
    assert isinstance(runtime.commands(), Commands)


def test_a_mistake_is_named(queries: Queries) -> None:
    with pytest.raises(ValidationError) as caught:
        runtime.submit_task("mail", {}, priority=10)
    assert list(caught.value.fields) == ["priority"]


@pytest.mark.django_db(transaction=True)
def test_on_commit_waits_for_the_outermost_block(queries: Queries) -> None:
    with transaction.atomic():
        with transaction.atomic():
            runtime.submit_on_commit("mail", {"n": 1})
        assert queries.tasks(TaskFilter()).items == []
    assert [task.id for task in queries.tasks(TaskFilter()).items] != []


@pytest.mark.django_db(transaction=True)
def test_on_commit_is_forgotten_in_a_rollback(queries: Queries) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():  # noqa: PT012
        runtime.submit_on_commit("mail", {"n": 1})
        raise ZeroDivisionError
    assert queries.tasks(TaskFilter()).items == []


@pytest.mark.django_db(transaction=True)
def test_on_commit_finds_a_mistake_inside_the_transaction(queries: Queries) -> None:
    with pytest.raises(ValidationError), transaction.atomic():
        runtime.submit_on_commit("mail", {}, queue="NO")


@pytest.mark.django_db(transaction=True)
def test_outside_a_transaction_it_is_submitted_at_once(queries: Queries) -> None:
    runtime.submit_on_commit("mail", {}, using="default")
    assert len(queries.tasks(TaskFilter()).items) == 1


def test_demo_handlers_depend_on_the_access(queries: Queries, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "crash" in runtime.registry().names()
    for cache in (conf.config, runtime.registry):
        cache.cache_clear()
    monkeypatch.setattr(runtime, "default_registry", Registry())
    monkeypatch.setenv("DTQ_API_KEY", "long-enough")
    assert runtime.registry().names() == []


@pytest.mark.usefixtures("queries")
def test_a_name_that_a_demo_handler_has_as_well_is_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Registry()
    own.task("email.send")(lambda payload, ctx: None)
    monkeypatch.setattr(runtime, "default_registry", own)
    with pytest.raises(DuplicateTask, match=r"'email.send' is declared twice: .* set DTQ_DEMO_TASKS=false"):
        runtime.registry()


@pytest.mark.parametrize("payload", [[], [1], "text", 7])
def test_a_payload_that_is_no_mapping_is_refused_by_name(queries: Queries, payload: Any) -> None:
    with pytest.raises(ValidationError, match="payload must be an object"):
        runtime.submit_task("mail", payload)


def test_named_modules_are_imported(queries: Queries, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = "handlers_of_the_runtime_test"
    (tmp_path / f"{module}.py").write_text(
        "from tasks_app import runtime\n"
        "@runtime.default_registry.task('from_module')\n"
        "def handler(payload, ctx): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("DTQ_TASK_MODULES", module)
    conf.config.cache_clear()
    assert runtime.registry().get("from_module") is not None


def test_what_a_named_module_imports_may_be_missing_too(
    queries: Queries, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "imports_what_is_missing.py").write_text("import not_there_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("DTQ_TASK_MODULES", "imports_what_is_missing")
    conf.config.cache_clear()
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all"):
        runtime.registry()
    monkeypatch.setenv("DTQ_TASK_MODULES", "imports_what_is_missing.deeper")
    conf.config.cache_clear()
    with pytest.raises((ConfigError, ModuleNotFoundError)):
        runtime.registry()


@pytest.mark.usefixtures("queries")
def test_threads_that_ask_at_once_get_one_registry() -> None:
    """Web threads race for the first request; each demo handler must still be declared once."""
    together = threading.Barrier(8)

    def ask(_: int) -> Registry:
        together.wait(10)
        return runtime.registry()

    with ThreadPoolExecutor(8) as threads:
        registries = list(threads.map(ask, range(8)))
    assert len(set(map(id, registries))) == 1
    assert "noop" in registries[0].names()
