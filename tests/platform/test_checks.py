"""``manage.py check``: every finding in words, none as a traceback."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from django.test import override_settings

from tasks_app import checks, conf, runtime
from tasks_app.domain.snapshot import ServerInfo
from tasks_app.handlers.registry import Registry
from tests.support.server import PrivateServer

GOOD = ServerInfo(
    product="Redis",
    version="6.2.14",
    used_memory=1,
    max_memory=0,
    eviction_policy="noeviction",
    aof=True,
    snapshots=False,
    clients=1,
    uptime_s=1,
    now=1,
)

SetEnv = Callable[..., None]


@pytest.fixture
def env(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[SetEnv]:
    caches = (conf.config, runtime.client, runtime.commands, runtime.queries, runtime.registry)

    def clear() -> None:
        for cache in caches:
            cache.cache_clear()

    def set_env(**settings: str) -> None:
        for name, value in settings.items():
            monkeypatch.setenv(f"DTQ_{name}", value)
        clear()

    monkeypatch.delenv("DTQ_REDIS_URL", raising=False)
    monkeypatch.setenv("DTQ_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(runtime, "default_registry", Registry())
    clear()
    yield set_env
    clear()


def ids(messages: list[object]) -> list[str | None]:
    return [getattr(message, "id", None) for message in messages]


def test_an_option_of_the_address_that_cannot_work_is_an_error_like_any_other(env: SetEnv) -> None:
    env(REDIS_URL="redis://:s3cr3tPW@redis.example?socket_timeout=abc")
    (message,) = checks.check_settings(None)
    assert message.id == "dtq.E001"
    assert message.msg == "DTQ_REDIS_URL has an option socket_timeout that must be 0.01..3600 seconds"


def test_a_database_that_is_not_there_is_told(env: SetEnv, redis_url: str) -> None:
    env(REDIS_URL=f"{redis_url}?db=99")
    (message,) = checks.check_server(None)
    assert message.id == "dtq.W001"
    assert message.msg.endswith("does not answer: Redis refuses the connection: DB index is out of range")


def test_a_bad_setting_is_one_error_and_stops_the_other_checks(env: SetEnv) -> None:
    env(WORKER_CONCURRENCY="many")
    (message,) = checks.check_settings(None)
    assert message.id == "dtq.E001"
    assert message.msg == "DTQ_WORKER_CONCURRENCY must be a whole number, not 'many'"
    assert checks.check_handlers(None) == checks.check_server(None) == []


def test_the_sites_variables_are_checked_as_well(env: SetEnv) -> None:
    env()
    with override_settings(SITE_PROBLEMS=["DTQ_DJANGO_THREADS must be 1..1000, not 0"]):
        (message,) = checks.check_settings(None)
    assert message.msg == "DTQ_DJANGO_THREADS must be 1..1000, not 0"


def test_a_module_that_is_not_there(env: SetEnv) -> None:
    env(TASK_MODULES="nowhere.tasks")
    (message,) = checks.check_handlers(None)
    assert message.id == "dtq.E002"
    assert message.msg == "DTQ_TASK_MODULES names 'nowhere.tasks', and there is no module 'nowhere'"


def test_a_module_that_breaks_while_it_is_imported(
    env: SetEnv, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "broken_handlers_for_checks.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    env(TASK_MODULES="broken_handlers_for_checks")
    (message,) = checks.check_handlers(None)
    assert message.id == "dtq.E002"
    assert "ZeroDivisionError" in message.msg


def test_two_handlers_of_one_name(env: SetEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    env()
    registry = Registry()
    monkeypatch.setattr(runtime, "default_registry", registry)

    def discover() -> None:
        for _ in range(2):
            registry.task("same")(lambda payload, ctx: None)

    monkeypatch.setattr(runtime, "_autodiscover", discover)
    (message,) = checks.check_handlers(None)
    assert message.id == "dtq.E002"
    assert "'same' is declared twice" in message.msg


def test_no_findings_before_the_embedded_server_was_started(env: SetEnv) -> None:
    env()
    assert checks.check_settings(None) == checks.check_handlers(None) == checks.check_server(None) == []


def test_a_server_that_is_away_is_a_warning_without_its_password(env: SetEnv) -> None:
    env(REDIS_URL="redis://:s3cr3tPW@127.0.0.1:1/0")
    (message,) = checks.check_server(None)
    assert message.id == "dtq.W001"
    assert "redis://***@127.0.0.1:1/0 does not answer" in message.msg
    assert "s3cr3tPW" not in str(message)


@pytest.mark.real_redis
def test_a_real_server_with_both_faults(env: SetEnv, make_server: Callable[..., object]) -> None:
    server = make_server()
    url: str = server.url  # type: ignore[attr-defined]
    with redis.Redis.from_url(url) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
    env(REDIS_URL=url)
    assert ids(list(checks.check_server(None))) == ["dtq.W002", "dtq.W003"]


@pytest.mark.real_redis
def test_a_server_that_takes_no_writes_is_a_warning(env: SetEnv, aof_server: PrivateServer) -> None:
    env(REDIS_URL=aof_server.url)
    assert checks.check_server(None) == []
    with redis.Redis.from_url(aof_server.url) as client:
        client.config_set("maxmemory", 1)
    (message,) = checks.check_server(None)
    assert (message.id, message.msg) == ("dtq.W004", "Redis answers and takes no writes: Redis is out of memory")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"version": "6.0.16"}, ["dtq.E003"]),
        ({"cluster": True}, ["dtq.E004"]),
        ({"version": "7.0.15"}, []),
        ({"version": "10.0.0"}, []),
        ({"product": "Valkey", "version": "7.2.5"}, []),
        ({"eviction_policy": "volatile-ttl"}, ["dtq.W002"]),
        ({"aof": False, "snapshots": True}, ["dtq.W003"]),
        ({"aof": False, "eviction_policy": "allkeys-lru"}, ["dtq.W002", "dtq.W003"]),
        ({"aof": False, "loading": True}, []),
    ],
)
def test_what_is_said_of_a_server(changes: dict[str, object], expected: list[str]) -> None:
    assert ids(list(checks.judge(dataclasses.replace(GOOD, **changes)))) == expected  # type: ignore[arg-type]


def test_braces_keep_the_keys_on_one_node_of_a_cluster() -> None:
    assert checks.judge(dataclasses.replace(GOOD, cluster=True), "{dtq}") == []
