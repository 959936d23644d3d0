"""Opaque page cursors: the last item's place, with a checksum so that a damaged one is refused and not misread."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterable

from tasks_app.domain.errors import InvalidCursor
from tasks_app.domain.snapshot import Page

ID = re.compile(r"[0-9a-f]{1,32}")
ENTRY = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")


def encode_cursor(place: str) -> str:
    """``place`` is an id, a stream entry's id or a kind with a name.

    A cursor opens with a letter, so no shell takes it for an option.
    """
    raw = place.encode()
    return base64.urlsafe_b64encode(raw + zlib.crc32(raw).to_bytes(4, "big")).decode().rstrip("=")


def decode_cursor(cursor: str, shape: re.Pattern[str] = ID) -> str:
    """The place in ``cursor``: an ``ID``, a stream's ``ENTRY`` or what else ``shape`` says.

    Raises:
        InvalidCursor: it was not made by :func:`encode_cursor`, or belongs to a list of another kind.
    """
    try:
        raw = base64.b64decode(cursor.encode() + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        place, checksum = raw[:-4], raw[-4:]
        if zlib.crc32(place).to_bytes(4, "big") == checksum and shape.fullmatch(place.decode()):
            return place.decode()
    except (binascii.Error, UnicodeError):
        pass  # refused below, like a wrong checksum
    raise InvalidCursor("The cursor is not one this server made")


def page_of_names(kind: str, names: Iterable[str], cursor: str | None, limit: int | None) -> Page[str]:
    """Up to ``limit`` (``None``: all) of the ``names`` after ``cursor``, sorted. ``kind`` tells one list from others.

    Raises:
        InvalidCursor: it is of another list.
    """
    after = decode_cursor(cursor, re.compile(f"(?s){kind}:.+")).partition(":")[2] if cursor else ""
    left = sorted(name for name in names if name > after)
    if limit is None or len(left) <= limit:
        return Page(left)
    return Page(left[:limit], encode_cursor(f"{kind}:{left[limit - 1]}"))
