"""Moves what is due into the streams, and sweeps. Many may run; the one that holds the lock acts."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Callable

import structlog

from tasks_app.domain.errors import StoreUnavailable
from tasks_app.store.schedule import Schedule
from workers.engine.loops import pause

log = structlog.get_logger(__name__)

BATCH = 250
PASS_EVERY_S = 1.0
SHORTEST_NAP_S = 0.01
LEAD_EVERY_S = 3.5
RETURN_EVERY_S = 15.0
SWEEP_EVERY_S = 8.0
OPERATE_EVERY_S = 0.5
OPERATE_FOR_S = 0.05
"""What is due waits so long at most for the operations' turn to end, and one step more."""
JITTER = 0.2


class Scheduler:
    """One candidate for the lead. Its token is new with each process start, so a leader that was frozen while another
    took over finds every one of its scripts refused.
    """

    def __init__(
        self,
        schedule: Schedule,
        owner: str,
        stop: asyncio.Event,
        rng: random.Random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._schedule = schedule
        self._owner = owner
        self._token = secrets.token_hex(16)
        self._stop = stop
        self._rng = rng
        self._clock = clock
        self._lead_at = self._return_at = self._sweep_at = self._operate_at = 0.0
        self._claims_abandoned = True
        self.leading = False

    async def run_once(self) -> None:
        """One pass, and the wait after it."""
        await pause(self._stop, await self.run_pass())

    async def run_pass(self) -> float:
        """Do what is due; seconds until the next pass.

        Raises:
            StoreUnavailable: whether this one still leads is asked again at the next pass.
        """
        try:
            now = self._clock()
            if now >= self._lead_at:
                await self._lead(now)
            if not self.leading:
                return max(SHORTEST_NAP_S, self._lead_at - now)
            if self._claims_abandoned:
                await self._return_abandoned()
            nap_s = await self._requeue_due()
            if self.leading:
                nap_s = min(nap_s, await self._tidy(now))
                nap_s = min(nap_s, await self._operate(now))
            return nap_s
        except StoreUnavailable:
            self._lead_at = 0.0
            self._claims_abandoned = True
            raise

    async def _lead(self, now: float) -> None:
        led, self.leading = self.leading, await self._schedule.lead(self._owner, self._token)
        self._lead_at = now + LEAD_EVERY_S * self._rng.uniform(1 - JITTER, 1)
        if self.leading != led:
            self._claims_abandoned = True
            log.info("SCHEDULER_LEADS" if self.leading else "SCHEDULER_LEAD_LOST", owner=self._owner)

    async def _return_abandoned(self) -> None:
        """Only the leader claims, and this one has nothing under way: what is claimed was left by another, or by us."""
        while returned := await self._schedule.return_claims(self._token, 0):
            _log_returned(returned)
        self._claims_abandoned = False

    async def _requeue_due(self) -> float:
        due = await self._schedule.claim_due(self._token, BATCH)
        if not due.leading:
            log.warning("SCHEDULER_LEAD_LOST", owner=self._owner)
            self.leading = False
            return SHORTEST_NAP_S
        if due.ids:
            await self._schedule.requeue_claimed(self._token, due.ids)
        if len(due.ids) == BATCH:
            return 0.0
        if due.next_due_ms is None:
            return PASS_EVERY_S
        return min(PASS_EVERY_S, max(SHORTEST_NAP_S, due.next_due_ms / 1000))

    async def _tidy(self, now: float) -> float:
        if now >= self._return_at:
            _log_returned(await self._schedule.return_claims(self._token))
            self._return_at = now + RETURN_EVERY_S
        if now >= self._sweep_at:
            more = await self._schedule.sweep(self._token)
            self._sweep_at = now + (0.0 if more else SWEEP_EVERY_S * self._rng.uniform(1 - JITTER, 1))
            if more:
                return 0.0
        return PASS_EVERY_S

    async def _operate(self, now: float) -> float:
        if now >= self._operate_at:
            more = await self._schedule.operate(OPERATE_FOR_S)
            self._operate_at = now + (0.0 if more else OPERATE_EVERY_S)
            if more:
                return 0.0
        return PASS_EVERY_S

    async def resign(self) -> None:
        """Give up the lead, if it is this one's, so that another need not wait for the lock to run out."""
        if not self.leading:
            return
        self.leading = False
        try:
            await self._schedule.resign(self._token)
        except StoreUnavailable as error:
            log.warning("RESIGN_NOT_RECORDED", error=str(error))


def _log_returned(tasks: int) -> None:
    if tasks:
        log.warning("CLAIMS_RETURNED", tasks=tasks)
