"""The real site in processes of its own, over the run's server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.console.conftest import browser, configure
from tests.process.fleet import Fleet
from tests.support.backend import RealBackend

__all__ = ["browser", "configure"]

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.site import Site
    from tests.support.backend import Backend


@pytest.fixture(scope="module")
def make_site(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Site]]:
    """Makes sites; keyword arguments are settings without their ``DTQ_``."""
    from tests.browser.site import Site

    made: list[Site] = []

    def make(*, processes: int = 1, **settings: str) -> Site:
        if not isinstance(backend, RealBackend):
            pytest.skip("needs a real server")
        site = Site(backend.url, tmp_path_factory.mktemp("site"), **settings)
        made.append(site)
        site.start(processes)
        return site

    yield make
    for site in made:
        site.stop()


@pytest.fixture(scope="module")
def site(make_site: Callable[..., Site]) -> Site:
    """The site in open local mode."""
    return make_site()


@pytest.fixture
def fleet(redis_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """Workers and schedulers."""
    made = Fleet(redis_url, tmp_path)
    yield made
    made.close()
