"""What ``DTQ_REDACT_KEYS`` hides: values under such names, in structures and in plain text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar

from tasks_app.domain import strict_json
from tasks_app.domain.errors import MalformedJson

MASK = "***"
SHORTEST_SECRET = 4
"""Masking something shorter wherever it stands would garble every text and protect nothing."""

_OPENING = {"{": "}", "[": "]", "(": ")"}
_SEPARATORS = re.compile(r"[-_\s]")
# What may follow a name's own letters: more of it, a closing quote, a sign. A quote inside quoted JSON has backslashes.
_ASSIGNED = r"""[\w.-]{0,64}(?:\\*["'])?\]?\s{0,4}(?:=>|[:=])\s{0,4}(?:(?:bearer|basic|digest|token|apikey)\s+)?"""
_BARE_VALUE = re.compile(r"""[^\s&"'\\]*[^\s&"'\\,;)\]}.]""")
_QUOTE = re.compile(r"""\w{0,2}?(\\*["'])""")


class Redaction:
    """Masks the values of names that contain one of ``keys``; case, hyphens and underscores do not count."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._needles = tuple(filter(None, map(_plain, keys)))
        spelled = "|".join(r"[-_ ]?".join(map(re.escape, needle)) for needle in self._needles)
        self._named = re.compile(f"(?:{spelled}){_ASSIGNED}", re.IGNORECASE) if spelled else None

    def names(self, name: str) -> bool:
        """True when what stands under ``name`` is a secret."""
        plain = _plain(name)
        return any(needle in plain for needle in self._needles)

    def value(self, value: object) -> object:
        """A copy of nested mappings, lists and texts with secrets masked; what is none of these becomes its repr."""
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                key: MASK if isinstance(key, str) and self.names(key) else self.value(inner)
                for key, inner in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.value(inner) for inner in value]
        return self.text(repr(value))

    def text(self, text: str) -> str:
        """``text`` with the values in ``name=value``, ``name: value`` and ``"name": {...}`` masked.

        Knows no grammar: where a value's end is in doubt, more is masked rather than less. Said by a handler, its
        payload's own secrets are masked as well.
        """
        if mask := handled.get():
            text = mask(text)
        if self._named is None:
            return text
        parts: list[str] = []
        at = 0
        while match := self._named.search(text, at):
            start, end = _span(text, match.end())
            parts += (text[at:start], MASK if end > start else "")
            at = max(end, match.end())
        return "".join((*parts, text[at:]))

    def secrets_in(self, text: str) -> tuple[str, ...]:
        """The values under secret names in the JSON ``text``, longest first; none where it is no JSON."""
        lowered = _plain(text)
        if not any(needle in lowered for needle in self._needles) and "\\u" not in text:
            return ()
        try:
            found = set(self._secrets(strict_json.loads(text), secret=False))
        except MalformedJson:
            return ()
        return spellings(found)

    def _secrets(self, value: object, *, secret: bool) -> Iterator[str]:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from self._secrets(inner, secret=secret or self.names(key))
        elif isinstance(value, list):
            for inner in value:
                yield from self._secrets(inner, secret=secret)
        elif secret and value is not None and not isinstance(value, bool):
            yield str(value)


class PayloadMask:
    """Takes a payload's own secrets out of what its handler says. The payload is read when the first text comes."""

    __slots__ = ("_payload_json", "_redaction", "_secrets")

    def __init__(self, redaction: Redaction, payload_json: str) -> None:
        self._redaction = redaction
        self._payload_json = payload_json
        self._secrets: tuple[str, ...] | None = None

    def __call__(self, text: str) -> str:
        """``text`` without them."""
        if self._secrets is None:
            self._secrets = self._redaction.secrets_in(self._payload_json)
        return without(text, self._secrets)


handled: ContextVar[PayloadMask | None] = ContextVar("handled", default=None)
"""The payload of the task whose handler runs in this context."""


def spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """``secrets`` that are long enough to be looked for, as they stand in plain text, in JSON and in Python's repr."""
    found: set[str] = set()
    for secret in secrets:
        found |= {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1]}
    return tuple(sorted((text for text in found if len(text) >= SHORTEST_SECRET), key=lambda text: (-len(text), text)))


def without(text: str, secrets: Iterable[str]) -> str:
    """``text`` with each of ``secrets`` masked wherever it stands; longer ones have to come first."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text


def _plain(name: str) -> str:
    return _SEPARATORS.sub("", name).lower()


def _span(text: str, at: int) -> tuple[int, int]:
    """Where the value that begins at ``at`` starts and ends, without its quotes."""
    if quote := _QUOTE.match(text, at):
        end = _closing_quote(text, quote.end(), quote[1])
        return quote.end(), end
    if text[at : at + 1] in _OPENING:
        return at, _closing_bracket(text, at)
    bare = _BARE_VALUE.match(text, at)
    return at, bare.end() if bare else at


def _closing_quote(text: str, at: int, quote: str) -> int:
    """Where ``quote`` stands again, or the text's end: a text that was cut off is masked to there."""
    while at < len(text):
        if text.startswith(quote, at):
            return at
        at += 2 if text[at] == "\\" else 1
    return len(text)


def _closing_bracket(text: str, at: int) -> int:
    open_brackets: list[str] = []
    while at < len(text):
        sign = text[at]
        if sign in _OPENING:
            open_brackets.append(_OPENING[sign])
        elif open_brackets and sign == open_brackets[-1]:
            open_brackets.pop()
            if not open_brackets:
                return at + 1
        elif quote := _QUOTE.match(text, at):
            at = _closing_quote(text, quote.end(), quote[1]) + len(quote[1])
            continue
        at += 1
    return len(text)


NOTHING_HIDDEN = PayloadMask(Redaction(()), "")
"""The mask of a payload without secrets."""
