"""The stage, and the guard that looks at every key after every test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tasks_app.store.keys import Keys
from tests.support import invariants
from tests.support.stage import Stage

if TYPE_CHECKING:
    import redis

    from tasks_app.domain.config import Config
    from tasks_app.store.commands import Commands
    from tasks_app.store.leases import Leases
    from tasks_app.store.operations import Operations
    from tasks_app.store.schedule import Schedule


@pytest.fixture
def keys(config: Config) -> Keys:
    return Keys(config.key_prefix)


@pytest.fixture
def stage(redis_client: redis.Redis, config: Config, commands: Commands, leases: Leases, schedule: Schedule) -> Stage:
    return Stage(redis_client, config, commands, leases, schedule)


@pytest.fixture
def operations(redis_client: redis.Redis, config: Config) -> Operations:
    from tasks_app.store.operations import Operations

    return Operations(redis_client, config)


@pytest.fixture
def damaged() -> set[str]:
    """Ids of records that a test broke on purpose; the guard takes their word for nothing."""
    return set()


@pytest.fixture(autouse=True)
def guard(redis_client: redis.Redis, keys: Keys, damaged: set[str]) -> Iterator[None]:
    """After every test: no key without an owner or an end, and every index agrees with the records."""
    yield
    invariants.check(redis_client, keys, damaged=damaged)
