"""Which function runs which task type. A type is looked up here and nowhere else: no name is imported or evaluated."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tasks_app.domain.errors import ConfigError
from tasks_app.domain.retry import RetryPolicy
from tasks_app.domain.submission import MAX_TIMEOUT_MS, QUEUE_PATTERN, TYPE_PATTERN, Defaults
from tasks_app.handlers.errors import DuplicateTask

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Handler:
    """A function and what its declaration says. ``place`` is where it was declared: ``module.function (file:line)``."""

    name: str
    function: Callable[..., Any]
    is_async: bool
    place: str
    defaults: Defaults
    retry: RetryPolicy | None = None
    retry_for: tuple[type[BaseException], ...] = ()


class Registry:
    """Handlers by task type. Filled while modules are imported, read-only afterwards."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}

    def task(
        self,
        name: str,
        *,
        queue: str | None = None,
        priority: int | None = None,
        max_attempts: int | None = None,
        timeout: float | None = None,
        retry: RetryPolicy | None = None,
        retry_for: tuple[type[BaseException], ...] = (),
    ) -> Callable[[Function], Function]:
        """Declare the decorated function as the handler of ``name``; the function itself stays as it is.

        Args:
            name: the task type, ``^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$``.
            queue, priority, max_attempts: used by submissions that leave them out; ``None`` means the settings' value.
            timeout: seconds one attempt may take, 0.001..3600.
            retry: the backoff between attempts; ``None`` means the settings' policy.
            retry_for: exceptions that are worth another attempt, besides ``RetryableError``.

        The function is called ``handler(payload, ctx)``: the decoded payload and a ``TaskContext``. ``async def`` runs
        on the worker's loop and must not block it; ``def`` runs in a thread.

        Raises:
            DuplicateTask: another function is declared under this name.
            ConfigError: a value breaks its rule, or the function cannot be called with two arguments.
        """

        def declare(function: Function) -> Function:
            place = _place(function)
            _check(name, place, queue, priority, max_attempts, timeout, retry_for)
            _check_callable(name, place, function)
            timeout_ms = None if timeout is None else max(1, round(timeout * 1000))
            self.add(
                Handler(
                    name=name,
                    function=function,
                    is_async=_is_async(function),
                    place=place,
                    defaults=Defaults(queue, priority, max_attempts, timeout_ms),
                    retry=retry,
                    retry_for=retry_for,
                )
            )
            return function

        return declare

    def add(self, handler: Handler) -> None:
        """Take ``handler`` in.

        Raises:
            DuplicateTask: its name is taken.
        """
        taken = self._handlers.get(handler.name)
        if taken is not None:
            raise DuplicateTask(
                f"Task type {handler.name!r} is declared twice: by {taken.place} and by {handler.place}",
                task_type=handler.name,
                places=[taken.place, handler.place],
            )
        self._handlers[handler.name] = handler

    def get(self, name: str) -> Handler | None:
        """The handler of a task type, ``None`` when this process knows none."""
        return self._handlers.get(name)

    def defaults(self, name: str) -> Defaults:
        """What the handler declares for submissions; nothing for a type that this process does not know."""
        handler = self._handlers.get(name)
        return Defaults() if handler is None else handler.defaults

    def names(self) -> list[str]:
        """Every known task type, sorted."""
        return sorted(self._handlers)


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - asks for the method itself: an object may have an async one
    )


def _place(function: Callable[..., Any]) -> str:
    inner = inspect.unwrap(function)
    name = f"{getattr(inner, '__module__', '?')}.{getattr(inner, '__qualname__', type(inner).__qualname__)}"
    code = getattr(inner, "__code__", None)
    return name if code is None else f"{name} ({code.co_filename}:{code.co_firstlineno})"


def _check(
    name: str,
    place: str,
    queue: str | None,
    priority: int | None,
    max_attempts: int | None,
    timeout: float | None,
    retry_for: tuple[type[BaseException], ...],
) -> None:
    def need(ok: bool, rule: str) -> None:
        if not ok:
            raise ConfigError(f"@task({name!r}) on {place}: {rule}")

    need(isinstance(name, str) and TYPE_PATTERN.fullmatch(name) is not None, f"name must match {TYPE_PATTERN.pattern}")
    need(queue is None or QUEUE_PATTERN.fullmatch(queue) is not None, f"queue must match {QUEUE_PATTERN.pattern}")
    need(priority is None or priority in range(10), "priority must be 0..9")
    need(max_attempts is None or max_attempts >= 1, "max_attempts must be at least 1")
    need(timeout is None or 0 < timeout * 1000 <= MAX_TIMEOUT_MS, f"timeout must be up to {MAX_TIMEOUT_MS // 1000} s")
    need(
        isinstance(retry_for, tuple) and all(isinstance(e, type) and issubclass(e, BaseException) for e in retry_for),
        "retry_for must be a tuple of exception classes",
    )


def _check_callable(name: str, place: str, function: Callable[..., Any]) -> None:
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise ConfigError(f"@task({name!r}) on {place}: a generator cannot be a handler")
    try:
        inspect.signature(function).bind({}, None)
    except TypeError as error:
        raise ConfigError(f"@task({name!r}) on {place}: must be callable as handler(payload, ctx)") from error


default_registry = Registry()
task = default_registry.task
