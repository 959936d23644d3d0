"""No secret reaches a log line, whichever way it comes."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator

import pytest
import structlog

from tasks_app import logs
from tasks_app.domain.config import Config
from tasks_app.domain.redaction import PayloadMask, Redaction, handled

CONFIG = {
    "api_key": "k3y-of-the-api",
    "redis_url": "redis://worker:s3cr3t%21PW@redis.example:6379/0",
}


Configure = Callable[..., None]


@pytest.fixture
def configure() -> Iterator[Configure]:
    """Sets the logging of this process up anew, and puts it back afterwards."""
    root = logging.getLogger()
    handlers, level, structured = root.handlers[:], root.level, structlog.get_config()

    def set_up(**settings: object) -> None:
        logs.configure(Config(**{**CONFIG, **settings}))  # type: ignore[arg-type]

    yield set_up
    structlog.configure(**structured)
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)


def written(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


def test_settings_own_secrets_are_masked_wherever_they_stand(
    configure: Configure, capsys: pytest.CaptureFixture[str]
) -> None:
    configure()
    log = structlog.get_logger("test")
    log.info("got k3y-of-the-api", decoded="s3cr3t!PW")
    logging.getLogger("other").warning("url %s", CONFIG["redis_url"])
    try:
        raise ValueError("cannot reach redis://worker:s3cr3t%21PW@redis.example")
    except ValueError:
        logging.getLogger("other").exception("failed")
    text = written(capsys)
    assert "url redis://***@redis.example:6379/0" in text
    assert "ValueError" in text
    for secret in ("k3y-of-the-api", "s3cr3t%21PW", "s3cr3t!PW"):
        assert secret not in text


def test_json_lines_have_masked_keys_at_every_depth(configure: Configure, capsys: pytest.CaptureFixture[str]) -> None:
    configure(log_json=True)
    structlog.get_logger("test").info(
        "DONE", Password="a1b2", nested={"api_key": "c3d4", "list": [{"my_token_2": "e5f6", "harmless": 1}]}
    )
    line = json.loads(written(capsys))
    assert line["event"] == "DONE"
    assert line["level"] == "info"
    assert line["Password"] == "***"
    assert line["nested"] == {"api_key": "***", "list": [{"my_token_2": "***", "harmless": 1}]}


@pytest.mark.parametrize("log_json", [False, True])
def test_secrets_within_texts_and_tracebacks_are_masked(
    configure: Configure, capsys: pytest.CaptureFixture[str], log_json: bool
) -> None:
    configure(log_json=log_json)
    payload = {"user": "bob", "password": 'hun"ter2', "list": [{"api-key": "hunter2xyz"}]}
    try:
        raise ValueError(f"no login with {payload}")
    except ValueError:
        logging.getLogger("shop").exception("payload %s, token=%s", payload, "hunter2xyz")
    structlog.get_logger("test").info(json.dumps(payload), error=KeyError("token", payload))
    text = written(capsys)
    assert "hun" not in text
    assert text.count("bob") == 4


def test_a_handler_s_lines_show_no_secret_of_its_payload(
    configure: Configure, capsys: pytest.CaptureFixture[str]
) -> None:
    configure()
    mask = PayloadMask(Redaction(("password",)), '{"password":"hunter2xyz","user":"bob"}')
    before = handled.set(mask)
    logging.getLogger("shop").warning("bob said hunter2xyz")
    handled.reset(before)
    logging.getLogger("shop").warning("hunter2xyz is no secret here")
    text = written(capsys)
    assert "bob said ***" in text
    assert "hunter2xyz is no secret here" in text


def test_the_standard_library_writes_the_same_lines(configure: Configure, capsys: pytest.CaptureFixture[str]) -> None:
    configure(log_json=True)
    logging.getLogger("library").warning("%s happened", "something", extra={"password": "a1b2", "count": 3})
    line = json.loads(written(capsys))
    assert line["event"] == "something happened"
    assert (line["logger"], line["password"], line["count"]) == ("library", "***", 3)


def test_a_suspicious_request_is_worth_a_line_and_no_traceback(
    configure: Configure, capsys: pytest.CaptureFixture[str]
) -> None:
    configure()
    for name in ("django.security.DisallowedHost", "library"):
        try:
            raise ValueError("who is evil.example?")
        except ValueError:
            logging.getLogger(name).exception("Said by %s", name)
    text = written(capsys)
    assert "Said by django.security.DisallowedHost" in text
    assert text.count("Traceback") == 1


def test_the_level_counts(configure: Configure, capsys: pytest.CaptureFixture[str]) -> None:
    configure(log_level="ERROR")
    structlog.get_logger("test").warning("quiet")
    logging.getLogger("other").warning("quiet")
    logging.getLogger("django.request").warning("quiet")
    structlog.get_logger("test").error("loud")
    text = written(capsys)
    assert "quiet" not in text
    assert "loud" in text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://user:pw@host/0", "redis://***@host/0"),
        ("redis://:pw@host/0", "redis://***@host/0"),
        ("rediss://u:p:w@host", "rediss://***@host"),
        ("redis://host/0", "redis://host/0"),
        ("unix:///run/valkey.sock", "unix:///run/valkey.sock"),
        ("unix:///run/valkey.sock?db=1&password=pw", "unix:///run/valkey.sock?db=1&password=***"),
        ('{"url": "redis://host?password=pw", "n": 1}', '{"url": "redis://host?password=***", "n": 1}'),
    ],
)
def test_urls_are_shown_without_their_password(url: str, shown: str) -> None:
    assert logs.without_password(url) == shown


def test_a_password_among_the_parameters_is_a_secret() -> None:
    assert set(logs.secrets_of(Config(redis_url="redis://host?password=s3cr3t%21PW"))) == {"s3cr3t!PW"}


def test_a_secret_too_short_to_hide_is_not_looked_for() -> None:
    assert logs.secrets_of(Config(api_key="abc")) == ()
