"""Who takes part, with which settings, and how their workers are started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Command = list[str]
APPS = "tests.benchmarks.peers.apps"


@dataclass(frozen=True)
class Entrant:
    """One queue as it takes part.

    Attributes:
        app: module below ``apps``; also names the file of requirements, unless the entrant runs in the project's own
            environment.
        settings: what was chosen for it, in words, for the report.
        worker: for a number of processes the commands to start; the first word is a program of the environment.
        package: whose version is reported; none in the project's environment.
        needs: the oldest Python it installs on.
        bulk: it has a bulk call.
        env: further variables for its workers and producers.
    """

    app: str
    settings: str
    worker: Callable[[int], list[Command]]
    package: str = ""
    needs: tuple[int, int] = (3, 11)
    bulk: bool = False
    env: dict[str, str] = field(default_factory=dict)


def _celery(pool: str, *per_process: str) -> Callable[[int], list[Command]]:
    def commands(processes: int) -> list[Command]:
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "ERROR"]
        celery = ["celery", "-A", f"{APPS}.celery", "worker", "--pool", pool, *quiet]
        if pool == "prefork":
            return [[*celery, "--concurrency", str(processes)]]
        return [[*celery, *per_process, "--hostname", f"bench{number}@%h"] for number in range(processes)]

    return commands


def _each(*command: str) -> Callable[[int], list[Command]]:
    return lambda processes: [list(command)] * processes


def _taskiq(processes: int) -> list[Command]:
    room = ["--max-async-tasks", "100", "--max-prefetch", "100"]
    broker = f"{APPS}.taskiq:broker"
    return [["taskiq", "worker", broker, "--workers", str(processes), *room, "--no-parse", "--log-level", "ERROR"]]


def _dtq(concurrency: int) -> Callable[[int], list[Command]]:
    return _each("python", "manage.py", "runworker", "--concurrency", str(concurrency))


_DTQ_ENV = {
    "DTQ_TASK_MODULES": f"{APPS}.dtq",
    "DTQ_MAX_QUEUE_DEPTH": "10000000",
    "DTQ_LOG_LEVEL": "WARNING",
}

ENTRANTS: dict[str, Entrant] = {
    "bare": Entrant(
        "bare",
        "no queue: XADD, XREADGROUP, XACK, XDEL only, pipelines of 100, nothing recorded",
        _each("python", "-m", f"{APPS}.bare"),
        bulk=True,
    ),
    "bare_records": Entrant(
        "bare_records",
        "no queue: bare, with three writes and an EXPIRE per task for a record; nothing is checked",
        _each("python", "-m", f"{APPS}.bare_records"),
        bulk=True,
    ),
    "dtq": Entrant("dtq", "async handler, concurrency 200", _dtq(200), bulk=True, env=_DTQ_ENV),
    "dtq_sync": Entrant(
        "dtq",
        "def handler in threads, concurrency 64",
        _dtq(64),
        bulk=True,
        env={**_DTQ_ENV, "BENCH_TASK": "bench.noop_sync"},
    ),
    "rq": Entrant(
        "rq",
        "SimpleWorker (no fork per job), results kept as by default",
        _each("rq", "worker", "bench", "--worker-class", "rq.SimpleWorker", "--logging_level", "ERROR"),
        package="rq",
        bulk=True,
    ),
    "celery": Entrant(
        "celery",
        "threads pool of 10, results in Redis, acks late, prefetch 32 per thread, no gossip, mingle or heartbeat",
        _celery("threads", "--concurrency", "10"),
        package="celery",
    ),
    "celery_prefork": Entrant(
        "celery",
        "prefork pool, one child per process counted, else the same",
        _celery("prefork"),
        package="celery",
    ),
    "dramatiq": Entrant(
        "dramatiq",
        "16 threads a process, no results",
        lambda processes: [
            ["dramatiq", f"{APPS}.dramatiq", "--processes", str(processes), "--threads", "16", "--skip-logging"]
        ],
        package="dramatiq",
    ),
    "huey": Entrant(
        "huey",
        "one thread a process (more are slower), blocking pop, no acknowledgement, no results",
        _each("huey_consumer", f"{APPS}.huey.huey", "--workers", "1", "--quiet", "--no-periodic"),
        package="huey",
    ),
    "arq": Entrant(
        "arq",
        "uvloop, 100 jobs at once, poll every 10 ms, results kept as by default",
        _each("python", "-m", f"{APPS}.arq"),
        package="arq",
    ),
    "taskiq": Entrant(
        "taskiq",
        "RedisStreamBroker, uvloop, 100 tasks at once, prefetch 100, no result backend",
        _taskiq,
        package="taskiq",
    ),
    "streaq": Entrant(
        "streaq",
        "uvloop, concurrency 100, results kept as by default",
        lambda processes: [["streaq", "run", f"{APPS}.streaq:worker", "--workers", str(processes)]],
        package="streaq",
        bulk=True,
    ),
    "ardiq": Entrant(
        "ardiq",
        "uvloop, concurrency 200, prefetch 400, results kept as by default",
        _each("python", "-m", f"{APPS}.ardiq"),
        package="ardiq",
        needs=(3, 12),
        bulk=True,
    ),
}
