"""How long a failed attempt waits before the next one."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff. ``base`` and ``maximum`` are seconds, ``jitter`` a fraction of the delay."""

    base: float = 1.0
    maximum: float = 60.0
    jitter: float = 0.2

    def delay_ms(self, attempt: int, rng: random.Random) -> int:
        """Milliseconds to wait after failed attempt number ``attempt`` (1 is the first).

        ``min(maximum, base * 2**(attempt - 1)) * (1 + uniform(-jitter, jitter))``, never negative. The exponent is
        held below the range of a float, so attempt 10,000 waits ``maximum`` like any other late one.
        """
        exponent = min(max(attempt, 1) - 1, 512)
        delay = min(self.maximum, self.base * 2.0**exponent)
        return max(0, round(delay * (1 + rng.uniform(-self.jitter, self.jitter)) * 1000))
