"""Logging: structlog and the standard library write the same lines, and no secret reaches any of them."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from tasks_app.domain.config import Config
from tasks_app.domain.redaction import MASK, Redaction, spellings, without

# Redis' addresses may have it among the parameters as well.
_URL_PASSWORD = re.compile(r"""(?<=://)[^/@\s]*:[^/\s]*(?=@)|(?<=password=)[^&\s"'\\]+""")
# What these say below is of no use to an operator, even at DEBUG.
_LEVELS = {"django.request": "ERROR", "django.server": "WARNING", "uvicorn.error": "WARNING", "asyncio": "WARNING"}


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
    ]
    renderer: Processor = structlog.processors.JSONRenderer()
    if not config.log_json:
        renderer = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback, pad_event_to=0
        )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.stdlib.ExtraAdder(), *shared, brief_about_clients],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            redacting(Redaction(config.redact_keys)),
            renderer,
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


def redacting(redaction: Redaction) -> Processor:
    """A processor that masks secret names' values in everything a line will say, its traceback included."""

    def processor(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        masked = redaction.value(event)
        assert isinstance(masked, dict)
        return masked

    return processor


def mask_secrets(secrets: tuple[str, ...]) -> Callable[[WrappedLogger, str, Any], Any]:
    """The last processor: takes URLs' passwords and ``secrets`` out of the finished line, tracebacks included."""

    def processor(logger: WrappedLogger, method: str, line: str) -> str:
        return without(without_password(line), secrets)

    return processor


def secrets_of(config: Config) -> tuple[str, ...]:
    """The settings' own secrets, in each spelling in which they may turn up."""
    found = {config.api_key, config.metrics_token}
    url = urlsplit(config.redis_url)
    among = (value for name, value in parse_qsl(url.query) if name.endswith("password"))
    for password in (url.password or "", *among):
        found |= {password, unquote(password)}
    return spellings(found)


def without_password(url: str) -> str:
    """``url``, or a text with some, as it may be shown to people."""
    return _URL_PASSWORD.sub(MASK, url)
