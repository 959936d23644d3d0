"""The settings: what they default to, what they refuse, and how they read the environment."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tasks_app.domain.config import Config, config_from_env
from tasks_app.domain.errors import ConfigError
from tasks_app.domain.retry import RetryPolicy

REFUSED: list[tuple[str, Any]] = [
    ("redis_url", "http://localhost"),
    ("redis_url", "localhost:6379"),
    ("redis_url", "REDIS://localhost"),
    ("redis_url", "redis+sentinel://a:1"),
    ("redis_url", "redis://localhost?socket_timeout=abc"),
    ("redis_url", "redis://localhost:port/0"),
    ("redis_url", "redis://localhost:6379/zero"),
    ("redis_url", "redis://localhost:6379/0/1"),
    ("redis_url", "redis://localhost:6379/0#1"),
    ("redis_url", "redis://[::1/0"),
    ("redis_url", "unix://"),
    ("key_prefix", ""),
    ("key_prefix", "a b"),
    ("key_prefix", "a:b"),
    ("key_prefix", "{dtq"),
    ("key_prefix", "x" * 33),
    ("api_key", "clé"),
    ("api_key", "line\nbreak"),
    ("worker_concurrency", 0),
    ("worker_concurrency", 10_001),
    ("visibility_timeout_s", 0.4),
    ("visibility_timeout_s", 86_401.0),
    ("visibility_timeout_s", float("nan")),
    ("visibility_timeout_s", float("inf")),
    ("heartbeat_interval_s", 0.0),
    ("heartbeat_interval_s", -1.0),
    ("heartbeat_interval_s", 10.1),
    ("drain_timeout_s", -0.1),
    ("drain_timeout_s", 86_401.0),
    ("max_queue_depth", 0),
    ("max_queue_depth", 100_000_001),
    ("max_queues", 0),
    ("max_queues", 10_001),
    ("max_payload_bytes", 1),
    ("max_payload_bytes", 67_108_865),
    ("result_max_bytes", 3),
    ("result_max_bytes", 67_108_865),
    ("task_timeout_ms", 0),
    ("task_timeout_ms", 3_600_001),
    ("max_attempts", 0),
    ("max_attempts", 10_001),
    ("default_max_attempts", 0),
    ("default_max_attempts", 101),
    ("retry_base_delay", -0.1),
    ("retry_base_delay", 61.0),
    ("retry_max_delay", 0.9),
    ("retry_max_delay", 31_536_001.0),
    ("retry_jitter", -0.01),
    ("retry_jitter", 1.01),
    ("retry_jitter", float("nan")),
    ("task_retention_s", 0),
    ("task_retention_s", 315_360_001),
    ("idem_ttl_s", 0),
    ("idem_ttl_s", 315_360_001),
    ("dlq_maxlen", 0),
    ("dlq_maxlen", 100_000_001),
    ("log_level", "LOUD"),
    ("log_level", "info"),
]
ACCEPTED: list[tuple[str, Any]] = [
    ("redis_url", "redis://localhost:6379/0"),
    ("redis_url", "rediss://localhost"),
    ("redis_url", "unix:///run/redis.sock"),
    ("redis_url", "unix:///run/redis.sock?db=1"),
    ("redis_url", "redis://user:p%23s@[::1]:6379/15?socket_timeout=1"),
    ("redis_url", "redis://:p@ss@localhost"),
    ("redis_url", "redis+sentinel://a:1,b:2/main"),
    ("key_prefix", "{dtq}"),
    ("key_prefix", "x" * 32),
    ("worker_concurrency", 10_000),
    ("heartbeat_interval_s", 10.0),
    ("drain_timeout_s", 0.0),
    ("max_payload_bytes", 2),
    ("default_max_attempts", 100),
    ("retry_max_delay", 1.0),
    ("retry_jitter", 0.0),
    ("retry_jitter", 1.0),
    ("log_level", "CRITICAL"),
]


@pytest.mark.parametrize(("name", "value"), REFUSED, ids=lambda value: str(value)[:40])
def test_nonsense_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"DTQ_{name.upper()}") as refused:
        Config(**{name: value})
    assert refused.value.code == "CONFIG_ERROR"


@pytest.mark.parametrize(("name", "value"), ACCEPTED, ids=lambda value: str(value)[:40])
def test_the_edges_are_accepted(name: str, value: Any) -> None:
    assert getattr(Config(**{name: value}), name) == value


@pytest.mark.parametrize(
    "url",
    [
        "http://user:s3cr3t@host/0",
        "redis://:s3cr3t#@host/0",
        "redis://:#s3cr3t@host/0",
        "redis://:1/s3cr3t@host/0",
        "redis://:1?s3cr3t@host/0",
        "redis://:s3cr3t/@host/0",
        "redis://:@/#s3cr3t@host/0",
    ],
)
def test_no_message_shows_a_part_of_a_password(url: str) -> None:
    with pytest.raises(ConfigError, match="DTQ_REDIS_URL") as refused:
        Config(redis_url=url)
    assert "s3cr3t" not in str(refused.value)


def test_no_message_shows_a_secret() -> None:
    with pytest.raises(ConfigError) as refused:
        Config(api_key="s3cr3t\n")
    assert "s3cr3t" not in str(refused.value)


def test_the_heartbeat_is_at_most_a_third_of_the_lease() -> None:
    assert Config(visibility_timeout_s=6.0, heartbeat_interval_s=2.0).lease_ms == 6000
    with pytest.raises(ConfigError, match="DTQ_HEARTBEAT_INTERVAL_S"):
        Config(visibility_timeout_s=6.0, heartbeat_interval_s=2.1)


def test_every_broken_rule_is_named_at_once() -> None:
    with pytest.raises(ConfigError, match=r"DTQ_MAX_QUEUES must be .*; DTQ_DLQ_MAXLEN must be "):
        Config(max_queues=0, dlq_maxlen=0)


def test_values_that_do_not_parse_hide_no_other_mistake() -> None:
    with pytest.raises(ConfigError) as refused:
        config_from_env({"DTQ_DLQ_ENABLED": "perhaps", "DTQ_RETRY_JITER": "1", "DTQ_MAX_QUEUES": "0"})
    assert refused.value.message.split("; ") == [
        "DTQ_DLQ_ENABLED must be true or false, not 'perhaps'",
        "DTQ_RETRY_JITER is not a setting of dtq",
        "DTQ_MAX_QUEUES must be 1..10000, not 0",
    ]


def test_what_the_settings_imply() -> None:
    plain = Config()
    assert plain.embedded and plain.open_mode and plain.loads_demo_tasks
    assert plain.retry_policy == RetryPolicy(1.0, 60.0, 0.2)
    assert plain.lease_ms == 30_000
    served = Config(redis_url="redis://h", api_key="k")
    assert not served.embedded and not served.open_mode and not served.loads_demo_tasks
    assert Config(api_key="k", demo_tasks=True).loads_demo_tasks
    assert not Config(demo_tasks=False).loads_demo_tasks


def test_settings_do_not_change() -> None:
    with pytest.raises(AttributeError):
        Config().max_attempts = 1  # type: ignore[misc]


def test_an_empty_environment_gives_the_defaults() -> None:
    assert config_from_env({}) == Config()


@pytest.mark.parametrize("name", [f.name for f in fields(Config)])
@pytest.mark.parametrize("text", ["", "   "])
def test_an_empty_variable_keeps_the_default(name: str, text: str) -> None:
    assert config_from_env({f"DTQ_{name.upper()}": text}) == Config()


def test_each_kind_of_value_is_parsed() -> None:
    parsed = config_from_env(
        {
            "DTQ_REDIS_URL": " redis://localhost:6379/0 ",
            "DTQ_DATA_DIR": "/srv/dtq",
            "DTQ_WORKER_CONCURRENCY": "4",
            "DTQ_VISIBILITY_TIMEOUT_S": "15.5",
            "DTQ_TASK_MODULES": "a.tasks, b.tasks,,",
            "DTQ_DLQ_ENABLED": "no",
            "DTQ_DEMO_TASKS": "off",
            "DTQ_LOG_JSON": "TRUE",
            "PATH": "/bin",
        }
    )
    assert parsed == Config(
        redis_url="redis://localhost:6379/0",
        data_dir=Path("/srv/dtq"),
        worker_concurrency=4,
        visibility_timeout_s=15.5,
        task_modules=("a.tasks", "b.tasks"),
        dlq_enabled=False,
        demo_tasks=False,
        log_json=True,
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", True), ("true", True), ("YES", True), ("on", True), ("0", False), ("False", False), ("no", False)],
)
def test_words_for_true_and_false(text: str, value: bool) -> None:
    assert config_from_env({"DTQ_LOG_JSON": text}).log_json is value


@pytest.mark.parametrize(
    ("variable", "text", "kind"),
    [
        ("DTQ_LOG_JSON", "maybe", "true or false"),
        ("DTQ_DEMO_TASKS", "2", "true or false"),
        ("DTQ_MAX_ATTEMPTS", "many", "a whole number"),
        ("DTQ_MAX_ATTEMPTS", "1.5", "a whole number"),
        ("DTQ_RETRY_JITTER", "a bit", "a number"),
    ],
)
def test_a_value_that_does_not_parse_is_named(variable: str, text: str, kind: str) -> None:
    with pytest.raises(ConfigError, match=f"^{variable} must be {kind}, not '{text}'$"):
        config_from_env({variable: text})


def test_a_rule_broken_in_the_environment_is_named() -> None:
    with pytest.raises(ConfigError, match="DTQ_WORKER_CONCURRENCY must be 1..10000, not 0"):
        config_from_env({"DTQ_WORKER_CONCURRENCY": "0"})


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="DTQ_WORKER_CONCURENCY is not a setting"):
        config_from_env({"DTQ_WORKER_CONCURENCY": "4"})


def test_names_of_the_tests_and_of_django_are_left_alone() -> None:
    assert config_from_env({"DTQ_TEST_REDIS_SERVER": "/x", "DTQ_DJANGO_DEBUG": "1"}) == Config()
