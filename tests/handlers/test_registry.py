"""Declaring handlers: what is taken, what is refused and how the refusal reads."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from tasks_app.domain.errors import ConfigError
from tasks_app.domain.retry import RetryPolicy
from tasks_app.domain.submission import Defaults
from tasks_app.handlers import Registry, default_registry, task
from tasks_app.handlers.errors import DuplicateTask


@pytest.fixture
def registry() -> Registry:
    return Registry()


def test_a_declaration_is_kept_and_the_function_left_alone(registry: Registry) -> None:
    policy = RetryPolicy(base=2.0)

    def send(payload, ctx):
        return "sent"

    declare = registry.task(
        "mail.send", queue="mail", priority=7, max_attempts=3, timeout=1.5, retry=policy, retry_for=(OSError,)
    )
    assert declare(send) is send
    handler = registry.get("mail.send")
    assert handler is not None
    assert handler.function is send
    assert not handler.is_async
    assert handler.retry is policy
    assert handler.retry_for == (OSError,)
    assert registry.defaults("mail.send") == Defaults("mail", 7, 3, 1500)
    assert registry.names() == ["mail.send"]


def test_unknown_types_have_no_handler_and_no_defaults(registry: Registry) -> None:
    assert registry.get("os.system") is None
    assert registry.defaults("os.system") == Defaults()


def test_coroutine_functions_are_recognised_in_every_guise(registry: Registry) -> None:
    async def plain(payload, ctx):
        return None

    async def three(extra, payload, ctx):
        return None

    class Callable:
        async def __call__(self, payload, ctx):
            return None

    registry.task("plain")(plain)
    registry.task("partial")(functools.partial(three, 1))
    registry.task("object")(Callable())
    registry.task("thread")(lambda payload, ctx: None)
    kinds = {name: handler.is_async for name in registry.names() if (handler := registry.get(name)) is not None}
    assert kinds == {"plain": True, "partial": True, "object": True, "thread": False}


def test_a_name_taken_twice_names_both_places(registry: Registry) -> None:
    @registry.task("twice")
    def first(payload, ctx):
        return None

    def second(payload, ctx):
        return None

    with pytest.raises(DuplicateTask, match=r"first \(.*test_registry\.py:\d+\) and by .*second \(.*:\d+\)") as caught:
        registry.task("twice")(second)
    assert caught.value.details["task_type"] == "twice"
    assert len(caught.value.details["places"]) == 2
    assert registry.get("twice") is not None


def generator(payload, ctx):
    yield


async def async_generator(payload, ctx):
    yield


@pytest.mark.parametrize(
    ("name", "options", "function", "rule"),
    [
        ("", {}, lambda p, c: None, "name must match"),
        ("1st", {}, lambda p, c: None, "name must match"),
        ("a b", {}, lambda p, c: None, "name must match"),
        ("x" * 129, {}, lambda p, c: None, "name must match"),
        ("ok", {"queue": "Loud"}, lambda p, c: None, "queue must match"),
        ("ok", {"priority": 10}, lambda p, c: None, "priority must be"),
        ("ok", {"max_attempts": 0}, lambda p, c: None, "max_attempts must be"),
        ("ok", {"timeout": 0}, lambda p, c: None, "timeout must be"),
        ("ok", {"timeout": 3601}, lambda p, c: None, "timeout must be"),
        ("ok", {"retry_for": OSError}, lambda p, c: None, "retry_for must be"),
        ("ok", {"retry_for": ("OSError",)}, lambda p, c: None, "retry_for must be"),
        ("ok", {}, lambda p: None, "must be callable as"),
        ("ok", {}, lambda p, c, d: None, "must be callable as"),
        ("ok", {}, generator, "generator"),
        ("ok", {}, async_generator, "generator"),
    ],
)
def test_nonsense_is_refused_where_it_is_declared(
    registry: Registry, name: str, options: dict[str, Any], function: Any, rule: str
) -> None:
    with pytest.raises(ConfigError, match=rule):
        registry.task(name, **options)(function)
    assert registry.names() == []


def test_the_module_level_decorator_fills_the_default_registry() -> None:
    assert task == default_registry.task
