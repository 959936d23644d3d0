"""Stored JSON made readable from its own text: nothing is decoded, so numbers of any size stay what they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from tasks_app.domain.redaction import MASK, Redaction

SHOWN_CHARS = 64_000
"""How much pretty text a page carries per value; the rest is one click away as a file."""
LONG_STRING = 400
INDENT = "  "

_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*")|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<word>true|false|null)'
    r"|(?P<punct>[{}\[\]:,])|(?P<space>\s+)|(?P<other>.)",
    re.DOTALL,
)
_CLASSES = {"string": "s", "number": "n", "word": "w", "key": "k"}


@dataclass(frozen=True, slots=True)
class JsonView:
    """``html`` is safe; ``chars`` is the length of the stored text; ``cut`` says that more exists than is shown."""

    html: SafeString
    chars: int
    cut: bool
    empty: bool


def view(text: str | None, redaction: Redaction) -> JsonView | None:
    """Stored JSON as indented, coloured, escaped HTML with what ``redaction`` hides masked.

    ``None`` stays ``None``. Text that is not JSON is shown as the characters it has.
    """
    if text is None:
        return None
    pieces: list[str] = []
    room = SHOWN_CHARS
    cut = False
    for kind, piece in _laid_out(_masked(_tokens(text), redaction)):
        if room <= 0:
            cut = True
            break
        room -= len(piece)
        pieces.append(_span(kind, piece))
    return JsonView(
        mark_safe("".join(pieces)),  # noqa: S308 - every piece went through _span, which escapes
        len(text),
        cut,
        text.strip() in {"", "{}", "[]", "null"},
    )


def masked_text(text: str, redaction: Redaction) -> str:
    """The stored text with what ``redaction`` hides replaced; everything else is unchanged."""
    return "".join(piece for _, piece in _masked(_tokens(text), redaction))


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "other"
        if kind != "space":
            yield kind, match.group()


def _masked(tokens: Iterator[tuple[str, str]], redaction: Redaction) -> Iterator[tuple[str, str]]:
    """Marks keys as such, swaps the value after a secret's key, be it a scalar or a structure, and masks texts."""
    secret = False
    skipping = 0
    ahead = pairwise([*tokens, ("end", "")])
    for (kind, piece), (_, following) in ahead:
        if skipping:
            skipping += (piece in "{[") - (piece in "}]") if kind == "punct" else 0
            continue
        if kind == "string" and following == ":":
            secret = redaction.names(_decoded(piece))
            yield "key", piece
        elif secret and piece != ":":
            secret = False
            skipping = 1 if piece in {"{", "["} else 0
            yield "string", f'"{MASK}"'
        elif kind == "string":
            yield kind, f'"{redaction.text(piece[1:-1])}"'
        else:
            yield kind, piece


def _decoded(piece: str) -> str:
    """A name as it was meant: an escaped letter in it hides nothing from a mask."""
    try:
        return str(json.loads(piece))
    except ValueError:
        return piece


def _laid_out(tokens: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    depth = 0
    opened = False
    for kind, piece in tokens:
        if kind != "punct":
            if opened:
                yield "space", "\n" + INDENT * depth
                opened = False
            yield kind, piece
        elif piece in "{[":
            if opened:
                yield "space", "\n" + INDENT * depth
            yield kind, piece
            depth += 1
            opened = True
        elif piece in "}]":
            depth = max(0, depth - 1)
            if not opened:
                yield "space", "\n" + INDENT * depth
            opened = False
            yield kind, piece
        elif piece == ",":
            yield kind, ",\n" + INDENT * depth
        else:
            yield kind, ": "


def _span(kind: str, piece: str) -> str:
    name = _CLASSES.get(kind)
    if name is None:
        return escape(piece)
    if kind == "string" and len(piece) > LONG_STRING:
        head, rest = piece[:LONG_STRING], len(piece) - LONG_STRING
        return (
            f'<details class="long"><summary class="s">{escape(head)}… <i>{rest:,} more characters</i></summary>'
            f'<span class="s">{escape(piece)}</span></details>'
        )
    return f'<span class="{name}">{escape(piece)}</span>'
