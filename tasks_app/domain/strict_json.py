"""JSON that survives every hop unchanged, or is refused at the door."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

from tasks_app.domain.errors import MalformedJson

MAX_DEPTH = 100


def loads(text: str | bytes) -> Any:
    """Decode JSON text (UTF-8 when bytes).

    Raises:
        MalformedJson: not JSON, not UTF-8, NaN or Infinity, a number out of range, a duplicate key, a name with
            NUL, a lone surrogate, or nesting deeper than ``MAX_DEPTH``.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        else:
            _check_surrogates(text)
        _check_depth(text)
        value = _DECODER.decode(text)
        if "\\u" in text:  # only an escape can bring in what text itself cannot hold
            _check_surrogates(json.dumps(value, ensure_ascii=False))
            _check_names(value)
        return value
    except UnicodeDecodeError as error:
        raise MalformedJson("The body is not UTF-8", position=error.start) from error
    except json.JSONDecodeError as error:
        raise MalformedJson(f"Not JSON: {error.msg}", line=error.lineno, column=error.colno) from error
    except ValueError as error:  # what Python refuses to read, as reading it takes time by the square of its length
        digits = sys.get_int_max_str_digits()
        raise MalformedJson(f"A whole number has more than {digits} digits") from error
    except RecursionError as error:
        raise MalformedJson(f"Not JSON that can be kept: {error}") from error


def dumps(value: Any) -> str:
    """Encode compactly, keeping every character as it is.

    Raises:
        MalformedJson: the value has NaN, Infinity, a lone surrogate, a key that is not a string, a tuple, another type
            that JSON has no word for, a name with NUL, or nesting deeper than ``MAX_DEPTH``.
    """
    try:
        text = _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise MalformedJson(f"Not serialisable as JSON: {error}") from error
    _check_surrogates(text)
    _check_depth(text)
    _check_names(value)
    return text


def _check_depth(text: str) -> None:
    # Counting brackets outside strings costs a pass over the text, so texts that cannot be deep skip it.
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    in_string = escaped = False
    for char in text:
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise MalformedJson(f"Nested deeper than {MAX_DEPTH} levels")
        elif char in "]}":
            depth -= 1


def _check_surrogates(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise MalformedJson("Text with a lone surrogate cannot be stored") from error


def _check_names(value: Any) -> None:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            for key in item:
                if not isinstance(key, str):
                    raise MalformedJson(f"Object keys must be strings, not {type(key).__name__}")
                if "\0" in key:
                    raise MalformedJson(f"Object keys must not have NUL: {key[:64]!r}")
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, tuple):
            raise MalformedJson("A tuple would come back as a list; use a list")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    decoded = dict(pairs)
    if len(decoded) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise MalformedJson(f"Duplicate key {key[:64]!r}")
            seen.add(key)
    return decoded


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise MalformedJson(f"Number out of range: {text[:32]}")
    return number


def _no_constant(name: str) -> Any:
    raise MalformedJson(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False)
