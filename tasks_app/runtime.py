"""The composition root: this process's one client, commands, queries and handlers, each made when first asked for.

Also the way in for Python code of the same project: ``submit_task`` and ``submit_on_commit``.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import redis

from tasks_app.conf import config, redis_url
from tasks_app.demo.handlers import register_shop
from tasks_app.domain.errors import ConfigError, DtqError
from tasks_app.domain.submission import Submission, parse_submission
from tasks_app.handlers.builtin import redis_counter, register_demo_tasks
from tasks_app.handlers.errors import DuplicateTask
from tasks_app.handlers.registry import Registry, default_registry
from tasks_app.store.api_keys import ApiKeys
from tasks_app.store.audit import Audit
from tasks_app.store.commands import Commands, Receipt
from tasks_app.store.connections import connect
from tasks_app.store.keys import Keys
from tasks_app.store.metrics import Observer
from tasks_app.store.operations import Operations
from tasks_app.store.queries import Queries
from tasks_app.store.refusals import Refusals
from tasks_app.store.wishes import Wishes

# The cache below does not keep two threads of a web process from filling the registry at once.
_filling = threading.Lock()
_with_demo_tasks: set[Registry] = set()


@functools.cache
def client() -> redis.Redis:
    """The sync Redis client of this process. It connects at the first command."""
    return connect(redis_url(), key_prefix=config().key_prefix)


@functools.cache
def commands() -> Commands:
    """What changes tasks and queues."""
    return Commands(client(), config())


@functools.cache
def queries() -> Queries:
    """What reads tasks, queues and workers."""
    return Queries(client(), config())


@functools.cache
def audit() -> Audit:
    """Where what is done outside the queue is noted."""
    return Audit(client(), config())


@functools.cache
def operations() -> Operations:
    """Bulk actions by filter."""
    return Operations(client(), config())


@functools.cache
def wishes() -> Wishes:
    """What tells workers to be quiet, to resume or to stop."""
    return Wishes(client(), config())


@functools.cache
def observer() -> Observer:
    """What the metrics are read with."""
    return Observer(client(), config())


@functools.cache
def refusals() -> Refusals:
    """Where refused submissions are counted."""
    return Refusals(client(), config())


@functools.cache
def api_keys() -> ApiKeys:
    """The named API keys."""
    return ApiKeys(client(), config())


def open_mode() -> bool:
    """True when whoever reaches the site may do everything: ``DTQ_API_KEY`` is unset, and nobody has made a key.

    Raises:
        StoreUnavailable: whether there are keys is not known, as Redis has not answered this process yet.
    """
    return config().open_mode and not api_keys().in_use()


@functools.cache
def registry() -> Registry:
    """The handlers of this process: ``DTQ_TASK_MODULES``, each installed app's ``tasks`` module, the demo handlers.

    Raises:
        ConfigError: a named module cannot be found, or two functions claim one task type.
    """
    with _filling:
        for name in config().task_modules:
            _import_named(name)
        _autodiscover()
        if config().loads_demo_tasks and default_registry not in _with_demo_tasks:
            _with_demo_tasks.add(default_registry)
            try:
                register_demo_tasks(default_registry, redis_counter(client(), Keys(config().key_prefix)))
                register_shop(default_registry)
            except DuplicateTask as error:
                message = f"{error.message}. The latter is a demo handler: set DTQ_DEMO_TASKS=false to do without them"
                raise DuplicateTask(message, **error.details) from error
        return default_registry


def submit_task(task_type: str, payload: Mapping[str, Any] | None = None, **options: Any) -> Receipt:
    """Submit one task now.

    Args:
        task_type: the handler's name. It need not be known to this process.
        payload: a JSON object.
        options: what else a submission can say: ``queue``, ``priority``, ``max_attempts``, ``timeout_ms``,
            ``delay_seconds`` or ``run_at``, ``idempotency_key``, ``metadata``.

    Raises:
        ValidationError, PayloadTooLarge: the submission breaks a rule.
        QueueFull, IdempotencyInProgress, IdempotencyMismatch: it is refused.
        StoreUnavailable: Redis cannot take it; nothing was written.
    """
    with counting_refusals():
        return commands().submit(_submission(task_type, payload, options))


def submit_on_commit(
    task_type: str, payload: Mapping[str, Any] | None = None, *, using: str | None = None, **options: Any
) -> None:
    """Submit one task once the current transaction of database ``using`` has committed; never if it rolls back.

    A worker can then not look for a row that is not there yet. Outside a transaction the task is submitted at once.
    A mistake in the submission raises here, inside the transaction; what only Redis can say (``QueueFull``,
    ``StoreUnavailable``...) raises after the commit, from the end of the outermost ``atomic`` block.

    Args:
        using: the database alias, the default database when left out.
    """
    from django.db import transaction  # the only use of Django here; workers' loops import this module too

    with counting_refusals():
        submission = _submission(task_type, payload, options)

    def submit() -> None:
        with counting_refusals():
            commands().submit(submission)

    transaction.on_commit(submit, using=using)


@contextmanager
def counting_refusals() -> Iterator[None]:
    """Count it when the submission inside is refused."""
    try:
        yield
    except DtqError as refusal:
        refusals().count(refusal.code)
        raise


def _submission(task_type: str, payload: Mapping[str, Any] | None, options: Mapping[str, Any]) -> Submission:
    # Another mapping than a dict is one to JSON as well; anything else is refused by name, with the other mistakes.
    raw = {**options, "task_type": task_type, "payload": dict(payload) if isinstance(payload, Mapping) else payload}
    return parse_submission(raw, config(), registry().defaults(task_type))


def _import_named(name: str) -> None:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the module is there, and something that it imports is not
        raise ConfigError(f"DTQ_TASK_MODULES names {name!r}, and there is no module {error.name!r}") from error


def _autodiscover() -> None:
    from django.apps import apps

    for app in apps.get_app_configs():
        name = f"{app.name}.tasks"
        if importlib.util.find_spec(name) is not None:
            importlib.import_module(name)
