"""Text from handlers, made fit to be stored: valid Unicode, a known length, and marked where it was cut."""

from __future__ import annotations

CUT = "... [cut]"


def clean(text: str, limit: int) -> str:
    """``text`` with lone surrogates replaced, at most ``limit`` characters; what is longer is cut and marked."""
    if len(text) > limit:
        text = text[: limit - len(CUT)] + CUT
    return valid(text)


def clean_tail(text: str, limit_bytes: int) -> str:
    """Like ``clean``, for text whose end matters most (a traceback): at most ``limit_bytes`` of UTF-8, cut in front."""
    encoded = valid(text).encode()
    if len(encoded) <= limit_bytes:
        return encoded.decode()
    mark = f"[{len(encoded) - limit_bytes} bytes or more cut] ...\n"
    return mark + encoded[len(encoded) - limit_bytes + len(mark) :].decode(errors="ignore")


def valid(text: str) -> str:
    """``text`` without lone surrogates, which no store can hold: each becomes ``?``."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text
