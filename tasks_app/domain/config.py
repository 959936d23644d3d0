"""The settings of the queue: read once from the environment into a frozen object that refuses nonsense."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tasks_app.domain.address import parse_address
from tasks_app.domain.environment import read_variables
from tasks_app.domain.errors import ConfigError
from tasks_app.domain.retry import RetryPolicy

PREFIX = "DTQ_"
_KEY_PREFIX = re.compile(r"[A-Za-z0-9_.-]{1,32}|\{[A-Za-z0-9_.-]{1,32}\}")


@dataclass(frozen=True, slots=True)
class Config:
    """Every ``DTQ_`` setting under its lower-case name. Times carry their unit in the name.

    What may hold a secret is left out of the repr, which error pages and tracebacks of others show.
    """

    redis_url: str = field(default="", repr=False)
    data_dir: Path = Path("var")
    key_prefix: str = "dtq"
    api_key: str = field(default="", repr=False)
    metrics_token: str = field(default="", repr=False)
    api_rate_limit: float = 0.0
    env_name: str = ""
    task_modules: tuple[str, ...] = ()
    demo_tasks: bool | None = None
    worker_concurrency: int = 10
    visibility_timeout_s: float = 30.0
    heartbeat_interval_s: float = 5.0
    drain_timeout_s: float = 30.0
    max_queue_depth: int = 100_000
    max_queues: int = 1000
    max_payload_bytes: int = 262_144
    result_max_bytes: int = 262_144
    task_timeout_ms: int = 30_000
    max_attempts: int = 100
    default_max_attempts: int = 5
    retry_base_delay: float = 1.0
    retry_max_delay: float = 60.0
    retry_jitter: float = 0.2
    task_retention_s: int = 604_800
    idem_ttl_s: int = 86_400
    dlq_enabled: bool = True
    dlq_maxlen: int = 100_000
    redact_keys: tuple[str, ...] = ("password", "passwd", "secret", "token", "api_key", "authorization")
    log_level: str = "INFO"
    log_json: bool = False

    def __post_init__(self) -> None:
        if problems := self._problems():
            raise ConfigError("; ".join(problems))

    @property
    def embedded(self) -> bool:
        """True when no server is named, so the one under ``data_dir`` is used."""
        return not self.redis_url

    @property
    def open_mode(self) -> bool:
        """True when anyone who reaches the server may use it, because no key is set."""
        return not self.api_key

    @property
    def loads_demo_tasks(self) -> bool:
        """Demo handlers include one that kills its worker, so by default only open local mode has them."""
        return self.open_mode if self.demo_tasks is None else self.demo_tasks

    @property
    def retry_policy(self) -> RetryPolicy:
        """The backoff of tasks that declare none of their own."""
        return RetryPolicy(self.retry_base_delay, self.retry_max_delay, self.retry_jitter)

    @property
    def lease_ms(self) -> int:
        """The visibility timeout in milliseconds."""
        return round(self.visibility_timeout_s * 1000)

    def _problems(self) -> list[str]:
        found: list[str] = []

        def need(ok: bool, name: str, rule: str) -> None:
            if not ok:
                found.append(f"{PREFIX}{name.upper()} {rule}, not {getattr(self, name)!r}")

        if self.redis_url and (problem := _address_problem(self.redis_url, self.key_prefix)):
            found.append(f"{PREFIX}REDIS_URL {problem}")
        need(_KEY_PREFIX.fullmatch(self.key_prefix) is not None, "key_prefix", "must be 1-32 of A-Z a-z 0-9 _ . -")
        if self.api_key.startswith("change-me"):
            found.append(f"{PREFIX}API_KEY is still that of the example, which everybody knows")
        if self.api_key and (not self.api_key.isascii() or not self.api_key.isprintable()):
            found.append(f"{PREFIX}API_KEY must be printable ASCII")
        if self.metrics_token and (not self.metrics_token.isascii() or not self.metrics_token.isprintable()):
            found.append(f"{PREFIX}METRICS_TOKEN must be printable ASCII")
        need(0 <= self.api_rate_limit <= 100_000, "api_rate_limit", "must be 0..100000 requests a second")
        need(1 <= self.worker_concurrency <= 10_000, "worker_concurrency", "must be 1..10000")
        need(0.5 <= self.visibility_timeout_s <= 86_400, "visibility_timeout_s", "must be 0.5..86400 seconds")
        need(
            0 < self.heartbeat_interval_s <= self.visibility_timeout_s / 3,
            "heartbeat_interval_s",
            f"must be above 0 and at most a third of {PREFIX}VISIBILITY_TIMEOUT_S ({self.visibility_timeout_s:g})",
        )
        need(0 <= self.drain_timeout_s <= 86_400, "drain_timeout_s", "must be 0..86400 seconds")
        need(1 <= self.max_queue_depth <= 100_000_000, "max_queue_depth", "must be 1..100000000")
        need(1 <= self.max_queues <= 10_000, "max_queues", "must be 1..10000")
        need(2 <= self.max_payload_bytes <= 67_108_864, "max_payload_bytes", "must be 2..67108864")
        need(4 <= self.result_max_bytes <= 67_108_864, "result_max_bytes", "must be 4..67108864")
        need(1 <= self.task_timeout_ms <= 3_600_000, "task_timeout_ms", "must be 1..3600000")
        need(1 <= self.max_attempts <= 10_000, "max_attempts", "must be 1..10000")
        need(
            1 <= self.default_max_attempts <= self.max_attempts,
            "default_max_attempts",
            f"must be 1..{PREFIX}MAX_ATTEMPTS ({self.max_attempts})",
        )
        need(0 <= self.retry_base_delay <= 86_400, "retry_base_delay", "must be 0..86400 seconds")
        need(
            self.retry_base_delay <= self.retry_max_delay <= 31_536_000,
            "retry_max_delay",
            f"must be {PREFIX}RETRY_BASE_DELAY..31536000 seconds",
        )
        need(0 <= self.retry_jitter <= 1, "retry_jitter", "must be 0..1")
        need(1 <= self.task_retention_s <= 315_360_000, "task_retention_s", "must be 1..315360000 seconds")
        need(1 <= self.idem_ttl_s <= 315_360_000, "idem_ttl_s", "must be 1..315360000 seconds")
        need(1 <= self.dlq_maxlen <= 100_000_000, "dlq_maxlen", "must be 1..100000000")
        need(
            self.log_level in {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"},
            "log_level",
            "must be DEBUG, INFO, WARNING, ERROR or CRITICAL",
        )
        return found


def config_from_env(env: Mapping[str, str]) -> Config:
    """Build the settings from ``DTQ_`` variables; a variable that is unset or empty keeps its default.

    Raises:
        ConfigError: a value does not parse, breaks its rule, or the name is unknown (a typing mistake would
            otherwise silently leave a default in force). The ``DTQ_TEST_`` and ``DTQ_DJANGO_`` names are not ours.
            Says everything that is wrong at once.
    """
    values, problems = read_variables(env, PREFIX, Config, others=("DTQ_TEST_", "DTQ_DJANGO_"))
    try:
        settings = Config(**values)
    except ConfigError as error:
        problems.append(error.message)
    if problems:
        raise ConfigError("; ".join(problems))
    return settings


def _address_problem(url: str, key_prefix: str) -> str | None:
    try:
        address = parse_address(url)
    except ConfigError as error:
        return error.message
    if len(address.nodes) > 1 and not address.service and not key_prefix.startswith("{"):
        return f"names several nodes of a cluster, so {PREFIX}KEY_PREFIX must be in braces, such as {{dtq}}"
    return None
