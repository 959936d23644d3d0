"""Workers that are killed, frozen, thawed and asked to leave, in any order, while tasks come in."""

from __future__ import annotations

import random
import signal
import time

import pytest

from tests.process.fleet import LEASE_S, Fleet, Process
from tests.process.test_links import lasting
from tests.process.trial import trial_of
from tests.support.until import until


@pytest.mark.timeout(180)
def test_signals_at_random_lose_nothing(fleet: Fleet) -> None:
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")
    rng = random.Random(seed)
    serving = [fleet.worker(ready=False) for _ in range(5)]
    frozen: list[Process] = []
    leaving: list[Process] = []
    until(lambda: all(fleet.shows(worker) for worker in serving), timeout=30, what="five workers")
    signals = [signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM]
    rng.shuffle(signals)
    with trial_of(fleet) as trial:
        for number in signals:
            victim = serving.pop(rng.randrange(len(serving)))
            victim.send(number)
            if number is signal.SIGSTOP:
                frozen.append(victim)
            if number is signal.SIGTERM:
                leaving.append(victim)
            before = trial.ended()
            until(lambda: trial.ended() > before + 5, timeout=20, what="work by those who are left")  # noqa: B023
        lasting(LEASE_S)
        for worker in frozen:
            worker.send(signal.SIGCONT)  # what they held has run elsewhere by now; they must not finish it
        trial.flows_again(since=time.monotonic(), within=5)
        trial.reckon()
    assert [worker.wait() for worker in leaving] == [0] * len(leaving)
    assert all(worker.alive for worker in serving + frozen)
