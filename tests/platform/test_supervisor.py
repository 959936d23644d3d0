"""Processes kept up, stopped in order, none left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.until import until
from workers.processes import has_ended, start_bound
from workers.supervisor import FIRST_DELAY_S, HEALTHY_AFTER_S, LONGEST_DELAY_S, Child

PROJECT = Path(__file__).resolve().parents[2]

# A child that writes down how it was treated: argv is log, name, and whether it obeys SIGTERM.
CHILD = """
import os, signal, sys
log, name, obeys = sys.argv[1:]
def note(word):
    with open(log, "a") as file:
        file.write(f"{name} {word} {os.getpid()}\\n")
def on_term(*_):
    note("asked")
    if obeys == "yes" or (obeys == "second" and sum(1 for line in open(log) if line.startswith(f"{name} asked")) > 1):
        note("ended")
        os._exit(0)
signal.signal(signal.SIGTERM, on_term)
note("up")
while True:
    signal.pause()
"""
PARENT = """
import sys
from workers.supervisor import Child, Supervisor
log, obeys = sys.argv[1:]
def child(name, obeys):
    return Child(name, [sys.executable, "-c", open(log + ".py").read(), log, name, obeys], stop_timeout_s=60)
Supervisor([[child("web", "yes")], [child("worker1", obeys), child("worker2", obeys)]]).run()
"""


class Running:
    """A supervisor in a process of its own, over one web and two workers."""

    def __init__(self, folder: Path, obeys: str, hup: signal.Handlers) -> None:
        self.log = folder / "log"
        (folder / "log.py").write_text(CHILD)
        self.log.touch()
        self.process = subprocess.Popen(
            [sys.executable, "-c", PARENT, str(self.log), obeys],
            cwd=PROJECT,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, hup),
        )
        until(lambda: self.words("up") == {"web", "worker1", "worker2"}, what="three children")

    @property
    def lines(self) -> list[list[str]]:
        return [line.split() for line in self.log.read_text().splitlines()]

    def words(self, word: str) -> set[str]:
        return {name for name, said, _ in self.lines if said == word}

    def pids(self, name: str) -> list[int]:
        return [int(pid) for who, said, pid in self.lines if (who, said) == (name, "up")]

    def alive(self) -> list[int]:
        return [int(pid) for _, said, pid in self.lines if said == "up" and exists(int(pid))]

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


def exists(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def start_one(obeys: str = "yes", hup: signal.Handlers = signal.SIG_DFL) -> Running:
        started.append(Running(tmp_path, obeys, hup))
        return started[-1]

    yield start_one
    for running in started:
        running.process.kill()
        running.process.wait()
        for pid in running.alive():
            os.kill(pid, signal.SIGKILL)


Start = Callable[..., Running]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_stages_stop_one_after_the_other(start: Start, number: signal.Signals) -> None:
    running = start()
    running.send(number)
    assert running.process.wait(20) == 0
    said = [(name, word) for name, word, _ in running.lines if word != "up"]
    assert said[:2] == [("web", "asked"), ("web", "ended")]
    assert sorted(said[2:]) == [(f"worker{n}", word) for n in (1, 2) for word in ("asked", "ended")]
    assert running.alive() == []


def test_a_closed_terminal_is_ignored_where_somebody_asked_for_it(start: Start) -> None:
    running = start(hup=signal.SIG_IGN)
    running.send(signal.SIGHUP)
    running.send(signal.SIGTERM)
    assert running.process.wait(20) == 0
    assert len([1 for _, word, _ in running.lines if word == "asked"]) == 3


def test_a_killed_child_is_started_again(start: Start) -> None:
    running = start()
    (first,) = running.pids("worker1")
    os.kill(first, signal.SIGKILL)
    until(lambda: len(running.pids("worker1")) == 2, what="another worker")
    assert len(running.pids("worker2")) == 1


def test_the_second_signal_is_handed_on(start: Start) -> None:
    running = start("second")
    running.send(signal.SIGTERM)
    until(lambda: running.words("asked") == {"web", "worker1", "worker2"}, what="the first request")
    running.send(signal.SIGTERM)
    assert running.process.wait(20) == 0
    assert running.words("ended") == {"web", "worker1", "worker2"}


def test_the_third_signal_ends_it(start: Start) -> None:
    running = start("no")
    for times in (1, 2, 3):
        running.send(signal.SIGTERM)
        if times < 3:
            until(lambda times=times: len([1 for _, w, _ in running.lines if w == "asked"]) >= 1 + 2 * times)  # type: ignore[misc]
    assert running.process.wait(20) == 0
    assert running.alive() == []


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_the_children_of_a_killed_supervisor_are_asked_to_stop(start: Start) -> None:
    running = start()
    running.send(signal.SIGKILL)
    until(lambda: running.words("ended") == {"web", "worker1", "worker2"}, what="the children's end")


def test_the_delay_grows_with_quick_deaths_and_is_forgotten_after_a_healthy_life() -> None:
    child = Child("dies", [sys.executable, "-c", ""], stop_timeout_s=1)
    now, delays = 1000.0, []
    for _ in range(8):
        child.keep_up(now)
        assert child.process is not None
        until(lambda: not child.running, what="its end")
        child.keep_up(now)
        delays.append(child._start_again_at - now)
        now = child._start_again_at
    assert delays[:3] == pytest.approx([2 * FIRST_DELAY_S, 4 * FIRST_DELAY_S, 8 * FIRST_DELAY_S])
    assert delays[-1] == LONGEST_DELAY_S
    child.keep_up(now)
    until(lambda: not child.running, what="its end")
    child.keep_up(now + HEALTHY_AFTER_S)
    assert child._start_again_at == pytest.approx(now + HEALTHY_AFTER_S + FIRST_DELAY_S)


def test_what_a_dead_process_leaves_in_its_group_goes_with_it() -> None:
    orphan = "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"
    child = Child("leaves one", [], stop_timeout_s=1)
    child.process = start_bound([sys.executable, "-c", orphan], stdout=subprocess.PIPE)
    assert child.process.stdout is not None
    pid = int(child.process.stdout.readline())
    child.process.stdout.close()
    process = child.process
    until(lambda: has_ended(process), what="the parent's end")
    assert exists(pid)
    child.kill()
    until(lambda: not exists(pid), what="the orphan's end")
