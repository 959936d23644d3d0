"""Values under secret names are masked in structures and in text, and nothing else is."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.config import Config
from tasks_app.domain.redaction import MASK, PayloadMask, Redaction, spellings, without

REDACTION = Redaction(Config().redact_keys)
NAMES = ["password", "Password", "db_passwd", "client-secret", "access_token", "API_KEY", "x-api-key", "apiKey"]


@pytest.mark.parametrize("name", [*NAMES, "Authorization"])
@pytest.mark.parametrize(
    "form",
    [
        "{}=hunter2xyz",
        "{} = hunter2xyz and more",
        "{}: hunter2xyz",
        "{}: Bearer hunter2xyz",
        "login({}='hunter2xyz', user='bob')",
        '{{"{}": "hunter2xyz", "n": 1}}',
        "{{'{}': b'hunter2xyz'}}",
        r"{{\"{}\": \"hunter2xyz\"}}",
        '{{"{}": {{"deep": ["hunter2xyz", "}}"]}}, "n": 1}}',
        '"{}": ["a", "hunter2xyz"]',
        "os.environ['{}'] = 'hunter2xyz'",
        "https://example.org/?{}=hunter2xyz&page=2",
        '"{}": "cut off hunter2xyz',
        "{} => 'a \\' hunter2xyz'",
    ],
)
def test_a_secret_in_a_text_is_masked(name: str, form: str) -> None:
    masked = REDACTION.text(form.format(name))
    assert "hunter2xyz" not in masked
    assert MASK in masked
    assert name in masked


def test_what_stands_around_a_secret_stays() -> None:
    text = '{"token":"t0k3n","n":1} user=bob, password=hunter2 page=2 and "secrets": {"a": 1}, "b": 2'
    assert REDACTION.text(text) == (
        f'{{"token":"{MASK}","n":1}} user=bob, password={MASK} page=2 and "secrets": {MASK}, "b": 2'
    )


@pytest.mark.parametrize(
    "text", ["", "KeyError: 'token'", "the password is wrong", "no secrets here: 1", "tokens", "password=", "a=b c: d"]
)
def test_text_without_a_secret_stays_as_it_is(text: str) -> None:
    assert REDACTION.text(text) == text


@pytest.mark.parametrize("names", [(), ("",), ("-",)])
def test_without_names_nothing_is_masked(names: tuple[str, ...]) -> None:
    redaction = Redaction(names)
    assert redaction.text("password=hunter2") == "password=hunter2"
    assert redaction.value({"password": "hunter2"}) == {"password": "hunter2"}
    assert redaction.secrets_in('{"password":"hunter2"}') == ()


def test_structures_are_masked_at_every_depth() -> None:
    class Odd:
        def __repr__(self) -> str:
            return "Odd(password='hunter2xyz')"

    found = REDACTION.value(
        {"Pass-Word": {"a": 1}, "list": [{"token": "x", "n": 1.5}, ("url?token=abcd",)], "odd": Odd(), "none": None}
    )
    assert found == {
        "Pass-Word": MASK,
        "list": [{"token": MASK, "n": 1.5}, [f"url?token={MASK}"]],
        "odd": f"Odd(password='{MASK}')",
        "none": None,
    }


def test_a_handler_cannot_say_what_its_payload_hides() -> None:
    mask = PayloadMask(REDACTION, r'{"password":"hun\"ter2","user":"bob","token":[12345,"ab\ncd",{"x":"12"}],"a":true}')
    said = "no login for bob with hun\"ter2: 'hun\"ter2', 12345, 'ab\\ncd', \"ab\ncd\", 12"
    assert mask(said) == f"no login for bob with {MASK}: '{MASK}', {MASK}, '{MASK}', \"{MASK}\", 12"


def test_an_escaped_name_hides_its_value_as_well() -> None:
    assert REDACTION.secrets_in(r'{"p\u0061ssword":"hunter2xyz"}') == ("hunter2xyz",)


@pytest.mark.parametrize("text", ["", "{", "password", '{"password":"a","password":"b"}', "\x00"])
def test_a_payload_that_does_not_decode_has_no_secrets(text: str) -> None:
    assert REDACTION.secrets_in(text) == ()


def test_longer_secrets_are_masked_first() -> None:
    assert without("abcdef abcd", spellings({"abcd", "abcdef", "abc"})) == f"{MASK} {MASK}"


@given(st.dictionaries(st.sampled_from(NAMES), st.text(alphabet="abcXYZ019 \"'\\{}[]\n=:,ü", min_size=6).map("s".join)))
def test_json_of_any_secret_shows_none_of_it(secrets: dict[str, str]) -> None:
    for text in (json.dumps(secrets), json.dumps(secrets, ensure_ascii=False), repr(secrets)):
        masked = REDACTION.text(text)
        for secret in spellings(secrets.values()):
            assert secret not in masked


@pytest.mark.parametrize("part", ["password", "a", "token: ", "token:{", 'token="', "token: (", "secret[", "\\", "=:"])
def test_long_texts_take_no_time(part: str) -> None:
    text = part * (200_000 // len(part))
    began = time.thread_time()
    REDACTION.text(text)
    assert time.thread_time() - began < 1.5


@given(st.text(alphabet="token:=\"'\\{}[]() b", max_size=60))
def test_any_text_is_masked_without_an_error(text: str) -> None:
    assert isinstance(REDACTION.text(text), str)
