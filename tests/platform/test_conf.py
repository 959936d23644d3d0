"""Where the settings come from and where the embedded server is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks_app import conf


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("DTQ_REDIS_URL", "DTQ_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    conf.config.cache_clear()
    yield
    conf.config.cache_clear()


def test_a_relative_data_directory_counts_from_the_project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert conf.config().data_dir == conf.PROJECT_DIR / "var"
    assert (conf.PROJECT_DIR / "manage.py").exists()


def test_an_absolute_one_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DTQ_DATA_DIR", str(tmp_path))
    assert conf.config().data_dir == tmp_path


def test_the_settings_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = conf.config()
    monkeypatch.setenv("DTQ_ENV_NAME", "later")
    assert conf.config() is first


def test_a_named_server_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DTQ_REDIS_URL", "redis://redis.example/3")
    assert conf.redis_url() == "redis://redis.example/3"


def test_without_one_it_is_the_embedded_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DTQ_DATA_DIR", "/srv/dtq")
    assert conf.redis_url() == "unix:///srv/dtq/valkey/valkey.sock"


def test_a_long_path_is_replaced_by_the_noted_one(tmp_path: Path) -> None:
    directory = tmp_path / ("long" * 30)
    directory.mkdir()
    assert conf.embedded_socket(directory) == directory / "valkey.sock"
    (directory / "socket").write_text("/tmp/dtq-x/s\n")
    assert conf.embedded_socket(directory) == Path("/tmp/dtq-x/s")


def test_the_longest_path_that_fits_is_used(tmp_path: Path) -> None:
    room = conf.MAX_SOCKET_PATH_BYTES - len(str(Path("/", "valkey.sock")))
    fits, too_long = (Path("/" + "d" * (room - 1 + more)) for more in (0, 1))
    assert len(str(conf.embedded_socket(fits))) == conf.MAX_SOCKET_PATH_BYTES
    assert len(str(too_long / "valkey.sock")) == conf.MAX_SOCKET_PATH_BYTES + 1
