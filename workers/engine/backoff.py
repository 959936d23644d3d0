"""How long a loop waits after a failure of Redis."""

from __future__ import annotations

import random


class Backoff:
    """Exponential with jitter: 0.05 s at first, 2 s at most, so that a fleet does not come back in step."""

    FIRST_S = 0.05

    def __init__(self, rng: random.Random, longest_s: float = 2.0) -> None:
        self._rng = rng
        self._longest_s = longest_s
        self._failures = 0

    def next_s(self) -> float:
        """Seconds to wait before the next try; longer each time until ``reset``."""
        ceiling = min(self._longest_s, self.FIRST_S * 2.0 ** min(self._failures, 16))
        self._failures += 1
        return ceiling * self._rng.uniform(0.5, 1.0)

    def reset(self) -> None:
        """The last try worked."""
        self._failures = 0
