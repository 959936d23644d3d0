"""The backoff between attempts."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain.retry import RetryPolicy

seconds = st.floats(min_value=0, max_value=31_536_000, allow_nan=False)


@pytest.mark.parametrize(
    ("attempt", "expected_ms"), [(1, 1000), (2, 2000), (3, 4000), (6, 32_000), (7, 60_000), (8, 60_000)]
)
def test_the_delay_doubles_up_to_its_maximum(attempt: int, expected_ms: int) -> None:
    assert RetryPolicy(jitter=0.0).delay_ms(attempt, random.Random(1)) == expected_ms


def test_jitter_spreads_to_both_sides_and_no_further() -> None:
    rng = random.Random(7)
    delays = [RetryPolicy().delay_ms(1, rng) for _ in range(1000)]
    assert 800 <= min(delays) < 850
    assert 1150 < max(delays) <= 1200


def test_the_same_dice_give_the_same_delay() -> None:
    assert RetryPolicy().delay_ms(3, random.Random(42)) == RetryPolicy().delay_ms(3, random.Random(42))


@pytest.mark.parametrize("attempt", [0, -1, -(10**9)])
def test_an_odd_attempt_number_counts_as_the_first(attempt: int) -> None:
    assert RetryPolicy(jitter=0.0).delay_ms(attempt, random.Random(1)) == 1000


@pytest.mark.parametrize("attempt", [1025, 10_000, 10**30])
def test_a_huge_attempt_number_waits_the_maximum(attempt: int) -> None:
    assert RetryPolicy(jitter=0.0).delay_ms(attempt, random.Random(1)) == 60_000


def test_no_base_means_no_wait() -> None:
    assert RetryPolicy(base=0.0).delay_ms(50, random.Random(1)) == 0


@given(
    base=seconds,
    maximum=seconds,
    jitter=st.floats(0, 1),
    attempt=st.integers(1, 10**12),
    seed=st.integers(0, 2**32),
)
def test_never_negative_and_never_past_the_jittered_maximum(
    base: float, maximum: float, jitter: float, attempt: int, seed: int
) -> None:
    delay = RetryPolicy(base, maximum, jitter).delay_ms(attempt, random.Random(seed))
    assert 0 <= delay <= maximum * (1 + jitter) * 1000 + 1
    assert isinstance(delay, int)


@given(attempt=st.integers(1, 2000), seed=st.integers(0, 2**32))
def test_without_jitter_a_later_attempt_never_waits_less(attempt: int, seed: int) -> None:
    policy = RetryPolicy(jitter=0.0)
    rng = random.Random(seed)
    assert policy.delay_ms(attempt, rng) <= policy.delay_ms(attempt + 1, rng)
