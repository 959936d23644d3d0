"""The API over the test server's Redis, with the product's settings and handlers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tasks_app import runtime
from tasks_app.domain.api_key import parse_grant
from tests.api.client import Api
from tests.api.hand import Hand
from tests.api.keyed import ALMIGHTY, Keyed
from tests.api.shell import Ran
from tests.support.builders import ACTOR, make_config
from tests.support.forgetting import forget

if TYPE_CHECKING:
    from pathlib import Path

    import redis
    from pytest_django.fixtures import Settings

    from tasks_app.domain.config import Config
    from tests.support.backend import Backend

Configure = Callable[..., None]


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch) -> Iterator[Configure]:
    """Sets ``DTQ_`` variables by their short names: ``configure(api_key="k")``."""

    def set_(**values: object) -> None:
        for name, value in values.items():
            monkeypatch.setenv(f"DTQ_{name.upper()}", str(value))
        forget()

    yield set_
    monkeypatch.undo()
    forget()


@pytest.fixture
def wired(
    redis_client: redis.Redis,
    configure: Configure,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
    tmp_path: Path,
) -> Configure:
    """This process's commands and queries speak to the test server."""
    settings.STATIC_ROOT = tmp_path  # collected or not, static files are no concern of the API
    runtime.registry()
    configure()
    original = runtime.client
    monkeypatch.setattr(runtime, "client", lambda: redis_client)
    monkeypatch.setattr(runtime.client, "cache_clear", original.cache_clear, raising=False)
    return configure


@pytest.fixture
def api(wired: Configure) -> Api:
    """A client of the API in open local mode."""
    return Api()


@pytest.fixture
def config() -> Config:
    """What the API runs with, but for what a test sets by ``configure``."""
    return make_config()


@pytest.fixture
def hand(backend: Backend, config: Config) -> Hand:
    """Runs tasks that the API has taken in."""
    return Hand(backend, config)


@pytest.fixture
def almighty(wired: Configure) -> Keyed:
    """A server with ``DTQ_API_KEY``, and who has it."""
    wired(api_key=ALMIGHTY)
    return Keyed(ALMIGHTY)


@pytest.fixture
def grant(almighty: Keyed) -> Callable[..., Keyed]:
    """Makes a key: ``grant("read", queues=["mail-*"])``."""

    def make(*scopes: str, name: str = "ci", **rules: Any) -> Keyed:
        return Keyed(runtime.api_keys().grant(parse_grant(name, scopes, **rules), ACTOR))

    return make


@pytest.fixture
def run(wired: Configure) -> type[Ran]:
    """Runs ``manage.py tasks`` in this process."""
    return Ran
