"""Asks over HTTP for an operation on everything dead."""

from __future__ import annotations

import http.client
import json

ASKED = json.dumps({"action": "requeue", "filter": {"status": "dead_lettered"}})


def press(port: int) -> tuple[int, dict[str, object]]:
    """Ask for everything dead to be requeued; how it was answered."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", "/api/v1/operations", ASKED, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    body = json.loads(answer.read())
    connection.close()
    return answer.status, body
