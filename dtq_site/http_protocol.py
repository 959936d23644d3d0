"""HTTP on the wire: uvicorn's protocol with a bound on what stands before a body, and refusals in the API's shape."""

from __future__ import annotations

import json
import uuid
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

MAX_HEAD_BYTES = 32 * 1024
"""Of the request line and the headers together. Browsers and proxies stay below 16 KiB."""


class BoundedHttpProtocol(HttpToolsProtocol):
    """Answers 431 once a request's head is too long, before more of it is taken in, and 400 to what is no HTTP."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_bytes = 0
        self._in_head = False
        self._ended = False

    def data_received(self, data: bytes) -> None:
        """Bytes of the peer. Those of an unfinished head are counted here: the parser gathers a value of any length."""
        if self.transport.is_closing():
            return
        in_same_head, self._ended = self._in_head, False
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            # What came before the head in the same piece is the end of another request, and not of interest.
            self._head_bytes = (self._head_bytes if in_same_head else 0) + (0 if self._ended else len(data))
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "HEADERS_TOO_LARGE", _TOO_LONG)

    def on_message_begin(self) -> None:
        """A head begins."""
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is whole."""
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        self._in_head = False
        if size <= MAX_HEAD_BYTES:
            super().on_headers_complete()
        elif not self.transport.is_closing():
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "HEADERS_TOO_LARGE", _TOO_LONG)

    def on_body(self, body: bytes) -> None:
        """A part of the body; that of a refused request is of no use to anybody."""
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._ended = True
        if not self.transport.is_closing():
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """What uvicorn says to bytes that are no HTTP, such as a broken ``Content-Length``."""
        if not self.transport.is_closing():
            self._refuse(HTTPStatus.BAD_REQUEST, "BAD_REQUEST", "This is not HTTP as the server understands it")

    def _refuse(self, status: HTTPStatus, code: str, message: str) -> None:
        request_id = uuid.uuid4().hex
        body = json.dumps({"code": code, "message": message, "request_id": request_id}).encode()
        headers = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            "x-request-id": request_id,
            "x-content-type-options": "nosniff",
            "connection": "close",
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.transport.write(STATUS_LINE[status] + head.encode() + b"\r\n" + body)
        self.transport.close()


_TOO_LONG = f"Request line and headers may have {MAX_HEAD_BYTES} bytes together"
