"""The real processes on a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.process.fleet import Fleet
from tests.support.server import PrivateServer


@pytest.fixture
def fleet(redis_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """Processes on the run's server."""
    made = Fleet(redis_url, tmp_path)
    yield made
    made.close()


@pytest.fixture
def fleet_on(tmp_path: Path) -> Iterator[Callable[[PrivateServer], Fleet]]:
    """Makes a fleet on a server that the test stops and starts."""
    made: list[Fleet] = []

    def make(server: PrivateServer) -> Fleet:
        made.append(Fleet(server.url, tmp_path))
        return made[-1]

    yield make
    for fleet in made:
        fleet.close()
