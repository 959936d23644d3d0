"""A load generator: many keep-alive connections to one address of this machine, one request in flight on each.

One thread and raw sockets, so that on two cores the generator takes little from the server it measures. Bounded by
time and by count.
"""

from __future__ import annotations

import selectors
import socket
import statistics
import time
from collections import Counter
from dataclasses import dataclass, field

LONGEST_ANSWER_S = 30.0


@dataclass
class Answers:
    """What came back. ``latencies_ms`` are those of all answers, from the request's first byte to the answer's last."""

    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    latencies_ms: dict[int, list[float]] = field(default_factory=dict)

    def per_s(self, status: int) -> float:
        """Answers with that status a second."""
        return self.statuses[status] / self.seconds

    def quantile_ms(self, status: int, percent: int) -> float:
        """A quantile of the latencies of answers with that status; 0 when there were hardly any."""
        latencies = self.latencies_ms.get(status, [])
        return statistics.quantiles(latencies, n=100)[percent - 1] if len(latencies) > 1 else 0.0


@dataclass
class _Connection:
    socket: socket.socket
    sent_at: float = 0.0
    received: bytes = b""


def post(
    port: int, path: str, body: bytes, *, connections: int, seconds: float, most: int = 1_000_000, secret: str = ""
) -> Answers:
    """Send that POST again and again on ``connections`` connections, for ``seconds`` or ``most`` requests."""
    held = f"X-API-Key: {secret}\r\n" if secret else ""
    request = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{held}"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    answers, sent = Answers(), 0
    with selectors.DefaultSelector() as selector:
        for _ in range(connections):
            connection = _Connection(socket.create_connection(("127.0.0.1", port)))
            connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(connection.socket, selectors.EVENT_READ, connection)
        begun = time.perf_counter()
        try:
            for key in selector.get_map().values():
                _send(key.data, request)
                sent += 1
            while selector.get_map():
                ready = selector.select(LONGEST_ANSWER_S)
                if not ready:
                    raise TimeoutError(f"No answer from port {port} for {LONGEST_ANSWER_S:.0f} s")
                for key, _ in ready:
                    if not _receive(key.data, answers):
                        continue
                    if sent < most and time.perf_counter() - begun < seconds:
                        _send(key.data, request)
                        sent += 1
                    else:
                        selector.unregister(key.data.socket)
                        key.data.socket.close()
        finally:
            for key in list(selector.get_map().values()):
                key.data.socket.close()
    answers.seconds = time.perf_counter() - begun
    return answers


def _send(connection: _Connection, request: bytes) -> None:
    connection.received = b""
    connection.sent_at = time.perf_counter()
    connection.socket.sendall(request)


def _receive(connection: _Connection, answers: Answers) -> bool:
    """Read what has come; true when the answer is whole and noted."""
    chunk = connection.socket.recv(1 << 18)
    if not chunk:
        raise ConnectionError("The server closed a connection before it had answered")
    connection.received += chunk
    head, found, body = connection.received.partition(b"\r\n\r\n")
    if not found or len(body) < _length(head):
        return False
    status = int(head[9:12])
    answers.statuses[status] += 1
    answers.latencies_ms.setdefault(status, []).append((time.perf_counter() - connection.sent_at) * 1000)
    return True


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise ValueError("An answer without Content-Length, which this generator cannot delimit")
