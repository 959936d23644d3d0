"""Logging: structlog and the standard library write the same lines, and no secret reaches any of them."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from tasks_app.domain.config import Config

MASK = "***"
# Redis' addresses may have it among the parameters as well.
_URL_PASSWORD = re.compile(r"""(?<=://)[^/@\s]*:[^/\s]*(?=@)|(?<=[?&]password=)[^&\s"'\\]+""")
# What these say below is of no use to an operator, even at DEBUG.
_LEVELS = {"django.request": "ERROR", "django.server": "WARNING", "uvicorn.error": "WARNING", "asyncio": "WARNING"}
# Masking a one-letter password wherever it stands would garble every line and protect nothing.
_SHORTEST_MASKED_SECRET = 4


def configure(config: Config) -> None:
    """Send structlog and the standard library through one handler on standard error.

    Called by Django in place of ``logging.config.dictConfig`` (see ``LOGGING_CONFIG`` in the settings), and by
    processes that do without Django.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        redact_keys(config.redact_keys),
    ]
    if config.log_json:
        last: list[Processor] = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        last = [
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback, pad_event_to=0
            )
        ]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.stdlib.ExtraAdder(), *shared, brief_about_clients],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            *last,
            mask_secrets(secrets_of(config)),
        ],
    )
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(level=config.log_level, handlers=[handler], force=True)
    for name, level in _LEVELS.items():
        logging.getLogger(name).setLevel(level)
    logging.captureWarnings(True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def brief_about_clients(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """A processor that keeps tracebacks out of what Django says of suspicious requests: any scanner can send those."""
    if str(event.get("logger", "")).startswith("django.security."):
        event.pop("exc_info", None)
    return event


def redact_keys(names: tuple[str, ...]) -> Processor:
    """A processor that masks the values of keys whose name contains one of ``names``, in nested mappings as well."""
    needles = tuple(name.lower() for name in names)

    def masked(key: object, value: object) -> object:
        if isinstance(key, str) and any(needle in key.lower() for needle in needles):
            return MASK
        return within(value)

    def within(value: object) -> object:
        if isinstance(value, Mapping):
            return {key: masked(key, inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [within(inner) for inner in value]
        return value

    def processor(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        for key, value in event.items():
            if key not in {"event", "exc_info", "_record", "_from_structlog"}:
                event[key] = masked(key, value)
        return event

    return processor


def mask_secrets(secrets: tuple[str, ...]) -> Callable[[WrappedLogger, str, Any], Any]:
    """The last processor: takes URLs' passwords and ``secrets`` out of the finished line, tracebacks included."""
    known = re.compile("|".join(re.escape(secret) for secret in sorted(secrets, key=len, reverse=True)))

    def processor(logger: WrappedLogger, method: str, line: str) -> str:
        line = without_password(line)
        return known.sub(MASK, line) if secrets else line

    return processor


def secrets_of(config: Config) -> tuple[str, ...]:
    """The settings' own secrets, in each spelling in which they may turn up."""
    found = {config.api_key}
    url = urlsplit(config.redis_url)
    for password in (url.password or "", *parse_qs(url.query).get("password", ())):
        found |= {password, unquote(password)}
    return tuple(secret for secret in found if len(secret) >= _SHORTEST_MASKED_SECRET)


def without_password(url: str) -> str:
    """``url``, or a text with some, as it may be shown to people."""
    return _URL_PASSWORD.sub(MASK, url)
