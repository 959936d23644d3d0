"""Loaded into a worker as a module with handlers: its claims come back empty whatever waits."""

from __future__ import annotations

import asyncio
from typing import Any

from tasks_app.store.leases import ClaimReply, Leases


async def _nothing(*args: object) -> ClaimReply:
    return ClaimReply([], [])


async def _nothing_at_bell(*args: Any) -> tuple[bool, ClaimReply]:
    await asyncio.wait((asyncio.get_running_loop().create_future(),), timeout=args[-1])  # as long as without a bell
    return False, ClaimReply([], [])


Leases.claim = _nothing  # type: ignore[method-assign, assignment]
Leases.claim_at_bell = _nothing_at_bell  # type: ignore[method-assign, assignment]
