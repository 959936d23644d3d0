"""Who looks on: somebody who opens the console's pages one after the other, and open event streams."""

from __future__ import annotations

import http.client
import threading
from collections import Counter

PAGES = (
    "/",
    "/tasks/",
    "/tasks/?status=succeeded",
    "/dlq/",
    "/queues/",
    "/queues/mail/",
    "/workers/",
    "/audit/",
    "/system/",
)
STREAMS = ("/events", "/events", "/api/v1/events")
EVERY_S = 1.5
AGAIN_S = 1.0
SILENCE_S = 30.0
"""A stream beats every ten seconds, so one that is silent for so long is dead."""


class Audience:
    """Watches until ``stop``. ``pages`` counts answers by status, ``streams`` what happened to the streams."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self.pages: Counter[str] = Counter()
        self.streams: Counter[str] = Counter()
        self.odd: list[str] = []
        self._threads = [threading.Thread(target=self._browse, name="pages", daemon=True)]
        self._threads += [
            threading.Thread(target=self._listen, args=(path,), name=path, daemon=True) for path in STREAMS
        ]

    def start(self) -> None:
        """Begin to watch."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Close every page and stream."""
        self._stop.set()
        for thread in self._threads:
            thread.join(SILENCE_S + 5)

    def _browse(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=15)
        turn = 0
        while not self._stop.wait(EVERY_S):
            path = PAGES[turn % len(PAGES)]
            turn += 1
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                self.pages[str(answer.status)] += 1
                if answer.status not in {200, 503}:
                    self.odd.append(f"{path} answered {answer.status}")
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                self.pages[type(error).__name__] += 1

    def _listen(self, path: str) -> None:
        while not self._stop.wait(AGAIN_S):
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=SILENCE_S)
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                self._count("opened" if answer.status == 200 else f"answered {answer.status}")
                while not self._stop.is_set() and (line := answer.readline()):
                    if line.startswith(b"event: "):
                        self._count(line[7:].decode().strip())
            except TimeoutError:
                self.odd.append(f"{path} was silent for {SILENCE_S:.0f} s")
            except (OSError, http.client.HTTPException) as error:
                self._count(type(error).__name__)
            finally:
                connection.close()

    def _count(self, what: str) -> None:
        with self._lock:
            self.streams[what] += 1
