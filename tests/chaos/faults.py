"""Which faults a schedule has, and when."""

from __future__ import annotations

import math
import random
from collections import Counter
from enum import StrEnum


class Fault(StrEnum):
    """What may befall a call, or the world while it is on its way."""

    LOST_REQUEST = "lost request"
    LOST_REPLY = "lost reply"
    LATE = "late request"
    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"
    FREEZE = "freeze"
    OUTAGE = "outage"
    SCRIPTS_LOST = "scripts lost"
    GROUP_LOST = "group lost"
    STREAM_LOST = "stream lost"
    STOP = "stop"


RAREST, OFTENEST = 0.001, 0.03
WEIGHTS = {"finish": 8, "giveback": 8, "release": 8, "note": 8, "renew": 4, "submit": 4, "reclaim": 2, "due": 2}
"""How much rather than others these calls are struck: most calls are those of idle workers, where little can break."""


class Faults:
    """Draws the fault of each call. Each schedule has some kinds only, each at a rate of its own: where all kinds come
    equally often, the ones that need a long quiet stretch around them never find it.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.calm = False
        kinds = [kind for kind in Fault if rng.random() < 0.5]
        self._rates = [(kind, math.exp(rng.uniform(math.log(RAREST), math.log(OFTENEST)))) for kind in kinds]
        self.injected: Counter[str] = Counter()

    def draw(self, script: str) -> Fault | None:
        """The fault of the next call, which is of ``script``; none while it is calm."""
        if self.calm:
            return None
        dice = self._rng.random() / WEIGHTS.get(script, 1)
        for kind, rate in self._rates:
            dice -= rate
            if dice < 0:
                self.injected[kind] += 1
                return kind
        return None
