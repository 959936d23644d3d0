"""A second process keeps the leases while the interpreter of the first is blocked."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import socket
import time
from subprocess import Popen
from typing import Any

import pytest
from structlog.testing import capture_logs

from tasks_app.store.presence import Fetching, Heartbeat
from tests.engine.fakes import BEAT, FakePresence, claimed
from tests.support.builders import make_config
from workers.engine.guard import MAX_TASKS_PER_MESSAGE, LeaseGuard
from workers.engine.guard_process import MAX_MESSAGE_BYTES, SILENCE_S, Guard, runs
from workers.processes import start_bound


class GuardBench:
    def __init__(self) -> None:
        self.presence = FakePresence()
        self.worker_runs = True
        self.guard = Guard(self.presence.real(), "w", lambda: self.worker_runs, heartbeat_every_s=5)

    def hear(self, message: str, now: float) -> None:
        self.guard.hear(message.encode(), now)


@pytest.fixture
def guarded() -> GuardBench:
    return GuardBench()


def beat_message(beat: Heartbeat = BEAT) -> str:
    return "!" + json.dumps(dataclasses.asdict(beat))


def test_while_the_keeper_speaks_the_guard_does_nothing(guarded: GuardBench) -> None:
    for second in range(10):
        guarded.hear("=t 1 noop", second)
        guarded.hear(beat_message(), second)
        guarded.guard.run_once(second + 0.9)
    assert guarded.presence.renewed == []
    assert guarded.presence.beats == []


def test_in_its_silence_the_guard_renews_and_beats(guarded: GuardBench) -> None:
    spoken = dataclasses.replace(BEAT, task_types=("noop", "mail.send"), fetching=Fetching(5, 9))
    guarded.hear(beat_message(spoken), 100)
    guarded.hear("=t 1 noop\nu 3 mail.send", 100)
    with capture_logs() as lines:
        for tenth in range(100):
            guarded.guard.run_once(100 + tenth / 10)
    assert len(guarded.presence.renewed) == 9
    assert guarded.presence.renewed[0] == [("t", 1), ("u", 3)]
    assert guarded.presence.beats == [dataclasses.replace(spoken, fetching=None)]  # its loop may stand still by now
    assert [line["event"] for line in lines] == ["INTERPRETER_BLOCKED"] * 2
    assert lines[0]["tasks"] == ["noop t", "mail.send u"]


def test_tasks_announced_before_they_start_are_renewed(guarded: GuardBench) -> None:
    guarded.hear("=", 100)
    guarded.hear("+t 1 noop", 100.5)
    guarded.hear("+u 1 no type\nof ours\nv 1 noop", 100.6)  # as the second one's damaged record calls it
    guarded.guard.run_once(100 + SILENCE_S)
    assert guarded.presence.renewed == [[("t", 1), ("u", 1), ("v", 1)]]


def test_an_announcement_that_crossed_the_list_is_kept_for_one_more(guarded: GuardBench) -> None:
    guarded.hear("+t 1 noop", 100)
    guarded.hear("=", 100)
    guarded.guard.run_once(100 + SILENCE_S)
    assert guarded.presence.renewed == [[("t", 1)]]
    guarded.hear("=", 102)
    guarded.hear("=", 103)
    guarded.guard.run_once(103 + SILENCE_S)
    assert guarded.presence.renewed == [[("t", 1)]]


def test_a_worker_that_is_stopped_or_dead_is_not_covered(guarded: GuardBench) -> None:
    guarded.hear(beat_message(), 100)
    guarded.hear("=t 1 noop", 100)
    guarded.worker_runs = False
    guarded.guard.run_once(200)
    assert not guarded.presence.renewed
    assert not guarded.presence.beats


def test_before_the_first_word_there_is_nothing_to_cover(guarded: GuardBench) -> None:
    guarded.guard.run_once(1e9)
    assert not guarded.presence.renewed
    assert not guarded.presence.beats


def test_this_process_runs_and_one_that_is_not_there_does_not() -> None:
    assert runs(os.getpid())
    assert not runs(2**22 + 1)


def test_the_real_process_takes_messages_of_any_size_and_ends_with_the_line(redis_url: str) -> None:
    guard = LeaseGuard(make_config(), redis_url, "w")
    guard.claimed([claimed("early")])  # before it is up: dropped, the next list has it
    guard.keep_up(0)
    process: Any = guard._process
    try:
        guard.claimed([claimed(f"t{n}") for n in range(100)])
        guard.alive([(f"t{n}", 1, "noop") for n in range(3 * MAX_TASKS_PER_MESSAGE)])
        guard.beat(BEAT)
        for _ in range(10_000):  # far more than the line holds: never blocks
            guard.alive([("t", 1, "noop")])
        guard.keep_up(1)
        assert process.poll() is None
    finally:
        guard.close()
    assert process.returncode == 0


def test_what_it_needs_to_know_is_there_when_it_starts(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker's interpreter may be blocked from just then on, which is what the guard is for."""
    found: list[bytes] = []

    def start(*command: Any, pass_fds: list[int], **options: Any) -> Popen[bytes]:
        with socket.socket(fileno=os.dup(pass_fds[0])) as line:
            found.append(line.recv(MAX_MESSAGE_BYTES, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        return start_bound(*command, pass_fds=pass_fds, **options)

    monkeypatch.setattr("workers.engine.guard.start_bound", start)
    guard = LeaseGuard(make_config(), redis_url, "w")
    guard.keep_up(0)
    guard.close()
    assert found == [pickle.dumps((make_config(), redis_url, "w"))]


def test_a_guard_that_died_is_replaced_but_not_in_a_hurry(redis_url: str) -> None:
    guard = LeaseGuard(make_config(), redis_url, "w")
    started = time.monotonic()
    guard.keep_up(started)
    first: Any = guard._process
    first.kill()
    first.wait()
    try:
        guard.alive([("t", 1, "noop")])
        guard.keep_up(started + 1)
        assert guard._process is first
        with capture_logs() as lines:
            guard.keep_up(started + 6)
        assert [line["event"] for line in lines] == ["LEASE_GUARD_ENDED"]
        assert guard._process is not first
    finally:
        guard.close()
