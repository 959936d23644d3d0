"""The shop's customers, as a stream of submissions. Pure: the same random source gives the same traffic."""

from __future__ import annotations

import math
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from tasks_app.demo.handlers import (
    BUSY_CARD,
    BUSY_DOMAIN,
    CORRUPT_SUFFIX,
    DEAD_CARD,
    DECLINED_CARD,
    UNKNOWN_DOMAIN,
)

WAVE_S = 120.0
"""How long the shop takes from a quiet moment over a rush to the next quiet one."""

_NAMES = (
    "ada",
    "grace",
    "edsger",
    "barbara",
    "donald",
    "radia",
    "tony",
    "leslie",
    "margaret",
    "ken",
    "frances",
    "alan",
)
_DOMAINS = ("mail.example", "post.example", "letters.example")
_TEMPLATES = (
    "welcome",
    "order_confirmed",
    "order_shipped",
    "password_reset",
    "cart_reminder",
    "newsletter",
    "invoice",
)
_REPORTS = ("sales-daily", "stock-value", "returns", "vat", "customers-new")
_SECTIONS = ("home", "shoes", "books", "garden", "toys")
_CARDS = ("4242 4242 4242 4242", "5555 5555 5555 4444", "3782 822463 10005")
# Out of a hundred submissions.
_MIX = {"email": 48, "payment": 18, "image": 14, "cache": 10, "report": 5, "stock": 5}


@dataclass
class Traffic:
    """Makes one submission after the other and remembers what could sensibly be cancelled."""

    rng: random.Random = field(default_factory=random.Random)
    _orders: int = 10_000
    _recent_orders: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=50))
    _cancellable: deque[str] = field(default_factory=lambda: deque(maxlen=20))

    def rate_at(self, seconds: float, mean: float) -> float:
        """Submissions a second, ``seconds`` after the start: a wave around ``mean``."""
        return mean * (1 - 0.6 * math.cos(2 * math.pi * seconds / WAVE_S))

    def next(self) -> dict[str, Any]:
        """A submission as a client would send it."""
        kind = self.rng.choices([*_MIX], weights=[*_MIX.values()])[0]
        raw: dict[str, Any] = getattr(self, f"_{kind}")()
        if self.rng.random() < 0.08:
            raw.setdefault("delay_seconds", self.rng.randint(5, 90))
        return raw

    def accepted(self, raw: dict[str, Any], task_id: str) -> None:
        """Note that ``raw`` became the task ``task_id``."""
        if "delay_seconds" in raw or raw["task_type"] == "report.build":
            self._cancellable.append(task_id)

    def cancel(self) -> str | None:
        """Now and then the id of the latest delayed or long task, which somebody changed their mind about."""
        if not self._cancellable or self.rng.random() > 0.02:
            return None
        return self._cancellable.pop()

    def _email(self) -> dict[str, Any]:
        luck = self.rng.random()
        domain = UNKNOWN_DOMAIN if luck < 0.02 else BUSY_DOMAIN if luck < 0.08 else self.rng.choice(_DOMAINS)
        template = self.rng.choice(_TEMPLATES)
        raw: dict[str, Any] = {
            "task_type": "email.send",
            "payload": {"to": f"{self.rng.choice(_NAMES)}{self.rng.randint(1, 400)}@{domain}", "template": template},
            "metadata": {"campaign": f"autumn-{self.rng.randint(1, 4)}"} if template == "newsletter" else {},
        }
        if template == "password_reset":
            # Of no use to anybody after a quarter of an hour.
            raw |= {"priority": 9, "metadata": {"ttl_seconds": 900}}
            raw["payload"]["token"] = f"{self.rng.getrandbits(64):016x}"
        if template == "cart_reminder":
            # Some of these come too late: the customer has gone by then.
            raw |= {"delay_seconds": self.rng.randint(10, 40), "metadata": {"ttl_seconds": 35}}
        if template == "newsletter":
            raw["priority"] = 2
        return raw

    def _payment(self) -> dict[str, Any]:
        if self._recent_orders and self.rng.random() < 0.05:
            # The customer pressed twice, or the shop sent it again after a timeout.
            return dict(self.rng.choice(self._recent_orders))
        self._orders += 1
        luck = self.rng.random()
        card = (
            DECLINED_CARD
            if luck < 0.04
            else BUSY_CARD
            if luck < 0.1
            else DEAD_CARD
            if luck < 0.115
            else self.rng.choice(_CARDS)
        )
        raw: dict[str, Any] = {
            "task_type": "payment.capture",
            "payload": {"order": self._orders, "card": card, "amount": self.rng.randint(499, 29_999)},
            "idempotency_key": f"order-{self._orders}",
            "metadata": {"shop": self.rng.choice(("de", "fr", "nl"))},
        }
        self._recent_orders.append(raw)
        return dict(raw)

    def _image(self) -> dict[str, Any]:
        suffix = CORRUPT_SUFFIX if self.rng.random() < 0.03 else ".jpg"
        widths = self.rng.sample((160, 320, 640, 1280, 1920), self.rng.randint(2, 4))
        file = f"uploads/{self.rng.getrandbits(32):08x}{suffix}"
        return {"task_type": "image.resize", "payload": {"file": file, "widths": sorted(widths)}}

    def _cache(self) -> dict[str, Any]:
        return {
            "task_type": "cache.warm",
            "payload": {"section": self.rng.choice(_SECTIONS), "urls": self.rng.randint(5, 60)},
        }

    def _report(self) -> dict[str, Any]:
        return {
            "task_type": "report.build",
            "payload": {"kind": self.rng.choice(_REPORTS), "pages": self.rng.randint(12, 60)},
            "metadata": {"requested_by": self.rng.choice(_NAMES)},
        }

    def _stock(self) -> dict[str, Any]:
        items = self.rng.randint(450, 900) if self.rng.random() < 0.15 else self.rng.randint(20, 300)
        return {"task_type": "stock.sync", "payload": {"warehouse": self.rng.randint(1, 3), "items": items}}
