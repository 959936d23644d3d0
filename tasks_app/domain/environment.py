"""Environment variables as values for the fields of a dataclass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


def read_variables(
    env: Mapping[str, str], prefix: str, kind: type[Any], *, others: Sequence[str] = ()
) -> tuple[dict[str, Any], list[str]]:
    """The values of ``kind``'s fields from variables named ``prefix`` and the field in capitals, and what is wrong.

    A field's default says what its text has to be; a variable that is empty sets nothing. A name with the prefix that
    is no field is wrong, because a typing mistake would otherwise leave a default in force; names that begin with one
    of ``others`` are somebody else's.
    """
    known = {field.name: field.default for field in fields(kind)}
    values: dict[str, Any] = {}
    problems: list[str] = []
    for variable, text in env.items():
        if not variable.startswith(prefix) or variable.startswith(tuple(others)):
            continue
        name = variable.removeprefix(prefix).lower()
        if name not in known:
            problems.append(f"{variable} is not a setting of dtq")
        elif text := text.strip():
            # No default is the mark of a switch whose position follows from other settings.
            default = False if known[name] is None else known[name]
            try:
                values[name] = _parse(text, default)
            except ValueError:
                wanted = {bool: "true or false", int: "a whole number", float: "a number"}[type(default)]
                problems.append(f"{variable} must be {wanted}, not {text!r}")
    return values, problems


def _parse(text: str, default: object) -> object:
    match default:
        case bool():
            return _parse_bool(text)
        case int():
            return int(text)
        case float():
            return float(text)
        case tuple():
            return tuple(part.strip() for part in text.split(",") if part.strip())
        case Path():
            return Path(text)
        case _:
            return text


def _parse_bool(text: str) -> bool:
    lowered = text.lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise ValueError(text)
