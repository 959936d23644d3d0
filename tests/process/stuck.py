"""Loaded into a worker as a module with handlers: its fetch loop never comes back from its first claim."""

from __future__ import annotations

import asyncio

from tasks_app.store.leases import ClaimReply, Leases


async def _never(*args: object) -> ClaimReply:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets the event")


Leases.claim = _never  # type: ignore[method-assign, assignment]
