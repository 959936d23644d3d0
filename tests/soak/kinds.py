"""What the load consists of, and how each kind of task may end."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tasks_app.domain.status import TaskStatus as S

Fields = dict[str, Any]
ENOUGH_ATTEMPTS = 50
"""For tasks that must succeed, however often a worker dies under them."""
POISON = "poison"
"""The queue of tasks that kill their worker; the worker whose memory is watched does not serve it."""


@dataclass(frozen=True)
class Kind:
    """``make`` gives a submission without its ``n``; ``weight`` is its share of the load, ``each_s`` a fixed rate."""

    type: str
    ends: frozenset[S]
    make: Callable[[random.Random], Fields] = field(default=lambda rng: {})
    weight: float = 0
    each_s: float = 0
    runs: bool = True
    cancel_after_s: float | None = None
    repaired: bool = False
    keyed: bool = False


def _payload(**payload: Any) -> Callable[[random.Random], Fields]:
    return lambda rng: {"payload": dict(payload)}


def _slow(rng: random.Random) -> Fields:
    return {"payload": {"seconds": round(rng.uniform(0.5, 2.5), 2)}}


def _flaky(rng: random.Random) -> Fields:
    return {"payload": {"fail_times": rng.randint(1, 3)}}


def _late(rng: random.Random) -> Fields:
    return {"delay_seconds": round(rng.uniform(1, 15), 2)}


def _mortal(rng: random.Random) -> Fields:
    return {"metadata": {"ttl_seconds": rng.uniform(1, 30)}}


def _big(rng: random.Random) -> Fields:
    blob = rng.choice("äx漢") * rng.randint(20_000, 60_000)
    return {"payload": {"blob": blob, "sha256": hashlib.sha256(blob.encode()).hexdigest()}}


def _crashing(times: int, attempts: int) -> Callable[[random.Random], Fields]:
    return lambda rng: {"queue": POISON, "max_attempts": attempts, "payload": {"times": times}}


def _timing_out(rng: random.Random) -> Fields:
    return {"payload": {"seconds": 5}, "timeout_ms": 300, "max_attempts": 2}


def _stale(rng: random.Random) -> Fields:
    return {"delay_seconds": 3, "metadata": {"ttl_seconds": 1}}


def _ends(*statuses: S) -> frozenset[S]:
    return frozenset(statuses)


_WELL, _DEAD = _ends(S.SUCCEEDED), _ends(S.DEAD_LETTERED)
KINDS: dict[str, Kind] = {
    "quick": Kind("soak.work", _WELL, weight=60),
    "quick, in a thread": Kind("soak.thread", _WELL, weight=12),
    "slow": Kind("soak.work", _WELL, _slow, weight=4),
    "slow, in a thread": Kind("soak.thread", _WELL, _slow, weight=1),
    "flaky": Kind("soak.work", _WELL, _flaky, weight=5),
    "failing for good": Kind("soak.fail", _DEAD, weight=1),
    "failing every attempt": Kind("soak.hopeless", _DEAD, lambda rng: {"max_attempts": 2}, weight=1),
    "dead, requeued": Kind("soak.broken", _WELL, weight=1, repaired=True),
    "timing out": Kind("soak.work", _DEAD, _timing_out, weight=0.5),
    "timing out, in a thread": Kind("soak.thread", _DEAD, _timing_out, weight=0.5),
    "delayed": Kind("soak.work", _WELL, _late, weight=5),
    "with a time to live": Kind("soak.work", _ends(S.SUCCEEDED, S.EXPIRED), _mortal, weight=3),
    "due after its time to live": Kind("soak.work", _ends(S.EXPIRED), _stale, weight=1, runs=False),
    "large payload": Kind("soak.big", _WELL, _big, weight=0.5),
    "cancelled while waiting": Kind(
        "soak.work", _ends(S.CANCELLED), lambda rng: {"delay_seconds": 600}, weight=1, runs=False, cancel_after_s=1
    ),
    "cancelled while running": Kind(
        "soak.work", _ends(S.CANCELLED, S.SUCCEEDED), _payload(seconds=20), weight=0.3, cancel_after_s=2
    ),
    "with an idempotency key": Kind("soak.work", _WELL, each_s=0.5, keyed=True),
    "killing its worker always": Kind("soak.crash", _DEAD, _crashing(times=1000, attempts=2), each_s=60),
    "killing its worker once": Kind("soak.crash", _WELL, _crashing(times=1, attempts=ENOUGH_ATTEMPTS), each_s=45),
}
_WEIGHTED = [name for name, kind in KINDS.items() if kind.weight]
_WEIGHTS = [KINDS[name].weight for name in _WEIGHTED]
_QUEUES = ("default", "mail", "reports", "images")


def pick(rng: random.Random) -> str:
    """The kind of the next task of the mixed load."""
    return rng.choices(_WEIGHTED, _WEIGHTS)[0]


def submission(name: str, serial: int, rng: random.Random) -> Fields:
    """A submission of that kind as the API takes it; its payload carries ``serial`` as ``n``."""
    kind = KINDS[name]
    made = {
        "task_type": kind.type,
        "queue": rng.choice(_QUEUES),
        "priority": rng.randint(0, 9),
        "max_attempts": ENOUGH_ATTEMPTS,
        **kind.make(rng),
    }
    return {**made, "payload": {"n": serial, **made.get("payload", {})}}
