"""The console in this process, over the run's server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from django.test import Client

from tasks_app import runtime
from tests.support.builders import make_config
from tests.support.forgetting import forget
from tests.support.stage import Stage

if TYPE_CHECKING:
    from pathlib import Path

    import redis
    from pytest_django.fixtures import Settings

    from tasks_app.store.commands import Commands
    from tasks_app.store.leases import Leases
    from tasks_app.store.schedule import Schedule

Configure = Callable[..., None]


@pytest.fixture
def configure(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch, settings: Settings, tmp_path: Path
) -> Iterator[Configure]:
    """Sets ``DTQ_`` variables by their short names; the console then speaks to the test server under them."""
    settings.STATIC_ROOT = tmp_path
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # slow ones are slow on purpose
    original = runtime.client
    monkeypatch.setattr(runtime, "client", lambda: redis_client)
    monkeypatch.setattr(runtime.client, "cache_clear", original.cache_clear, raising=False)

    def set_(**values: object) -> None:
        for name, value in values.items():
            monkeypatch.setenv(f"DTQ_{name.upper()}", str(value))
        forget()

    set_()
    yield set_
    monkeypatch.undo()
    forget()


@pytest.fixture
def browser(configure: Configure) -> Client:
    """A browser without scripts, in open local mode."""
    return Client(raise_request_exception=True)


@pytest.fixture
def htmx(configure: Configure) -> Client:
    """A browser whose requests come from htmx."""
    return Client(headers={"HX-Request": "true"})


@pytest.fixture
def stage(redis_client: redis.Redis, commands: Commands, leases: Leases, schedule: Schedule) -> Stage:
    """Brings tasks into any status, as workers would."""
    return Stage(redis_client, make_config(), commands, leases, schedule)
