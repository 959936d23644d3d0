"""Whether a core stood still: the times at which nothing ran on it, whatever was ready.

A host takes a virtual machine's core away without telling it, mostly not even as stolen time, and a part of the kernel
that lets no interrupt through has the same effect. Whatever was running then seems to have taken longer by that.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import NamedTuple

BEAT_S = 0.005
"""Often enough to miss no more of a standstill than this, and seldom enough not to disturb what runs there."""
NOTED_MS = 3.0
"""A beat that is later than this is noted: a timer's own lateness is far below."""


class Standstill(NamedTuple):
    """One time in which nothing ran on the core."""

    ended_s: float
    """By the clock on the wall, in seconds of the epoch."""
    ms: float
    """It lasted at least so long, and five milliseconds more at most."""


@contextmanager
def standstills(core: int) -> Iterator[list[Standstill]]:
    """Those of a core from here on, in their order; the list is filled at the end.

    A process on that core wakes every five milliseconds, before all others, so it is late only if nobody could run.
    Who may not come before others gets an empty list.
    """
    noted: list[Standstill] = []
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    beat = context.Process(target=_beat, args=(core, there))
    beat.start()
    there.close()
    try:
        yield noted
    finally:
        here.send(None)
        noted += here.recv()
        beat.join()


def _beat(core: int, asked: Connection) -> None:
    noted: list[Standstill] = []
    try:
        os.sched_setaffinity(0, {core})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        asked.poll(None)
    while not asked.poll():
        began_s = time.monotonic()
        time.sleep(BEAT_S)
        late_ms = (time.monotonic() - began_s - BEAT_S) * 1000
        if late_ms > NOTED_MS:
            noted.append(Standstill(time.time(), late_ms))
    asked.send(noted)
