"""Opaque page cursors: the last item's place, with a checksum so that a damaged one is refused and not misread."""

from __future__ import annotations

import base64
import binascii
import zlib

from tasks_app.domain.errors import InvalidCursor


def encode_cursor(place: str) -> str:
    """``place`` is an id or a stream entry's id."""
    raw = place.encode()
    return base64.urlsafe_b64encode(zlib.crc32(raw).to_bytes(4, "big") + raw).decode().rstrip("=")


def decode_cursor(cursor: str) -> str:
    """The place in ``cursor``.

    Raises:
        InvalidCursor: it was not made by :func:`encode_cursor`.
    """
    try:
        raw = base64.b64decode(cursor.encode() + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        checksum, place = raw[:4], raw[4:]
        if place and zlib.crc32(place).to_bytes(4, "big") == checksum:
            return place.decode()
    except (binascii.Error, UnicodeError):
        pass  # refused below, like a wrong checksum
    raise InvalidCursor("The cursor is not one this server made")
