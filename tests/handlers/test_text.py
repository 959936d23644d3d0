"""Texts from handlers before they are stored."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.handlers.text import clean, clean_tail, valid

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=400)


@given(ANY_TEXT, st.integers(20, 200))
def test_clean_text_is_short_and_storable(text: str, limit: int) -> None:
    cleaned = clean(text, limit)
    cleaned.encode()
    assert len(cleaned) <= limit


@given(ANY_TEXT, st.integers(60, 300))
def test_clean_tails_fit_and_keep_the_end(text: str, limit: int) -> None:
    cleaned = clean_tail(text, limit)
    assert len(cleaned.encode()) <= limit
    if len(valid(text).encode()) > limit:
        assert "bytes or more cut" in cleaned
        assert valid(text).endswith(cleaned[-5:])
    else:
        assert cleaned == valid(text)


@pytest.mark.parametrize("text", ["", "plain", "漢🙂", "\u2028"])
def test_good_text_stays_as_it_is(text: str) -> None:
    assert clean(text, 100) == clean_tail(text, 100) == text
