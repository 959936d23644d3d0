"""Moments as clients give them: ISO 8601 outside, epoch milliseconds inside."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from tasks_app.domain.wire import EPOCH

MOMENT_RULE = "must be ISO 8601 with an offset, such as 2030-01-31T12:00:00Z (in a URL write + as %2B)"

# A plus sign that somebody forgot to quote in a URL arrives as a space.
_UNQUOTED_PLUS = re.compile(r"(T\d{2}(?::?\d{2}){1,2}(?:\.\d+)?) (\d{2}:?\d{2})")


def parse_moment(text: str) -> int | None:
    """Epoch milliseconds of ISO 8601 text; ``None`` when it is no such text or has no offset.

    What lies before 1970 is 1970: nothing in the queue is older, and the scripts know no negative moments.
    """
    try:
        moment = datetime.fromisoformat(_UNQUOTED_PLUS.sub(r"\1+\2", text))
        if moment.tzinfo is None:
            return None
        return max(0, (moment - EPOCH) // timedelta(milliseconds=1))
    except (ValueError, OverflowError):
        return None
