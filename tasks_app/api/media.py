"""JSON in and JSON out: the parser, the renderer and the negotiation of every view of the API."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import IO, Any, ClassVar

from django.http.request import UnreadablePostError
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from tasks_app.api.errors import BadRequest, BodyTooLarge, LengthRequired
from tasks_app.api.representation import JsonText, encode
from tasks_app.conf import config
from tasks_app.domain import strict_json

BULK_LIMIT_BYTES = 10 * 1024 * 1024


class StrictJsonParser(BaseParser):
    """Reads a bounded body and decodes it with :func:`strict_json.loads`."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The decoded body.

        Raises:
            UnsupportedMediaType: the body claims a charset other than UTF-8.
            BodyTooLarge: it is longer than any body of this view can sensibly be.
            MalformedJson: it is not JSON that can be kept exactly.
        """
        _check_charset(media_type or "")
        context = parser_context or {}
        limit = context["view"].body_limit()
        declared = int(context["request"].META["CONTENT_LENGTH"])
        if declared > limit:
            raise BodyTooLarge(f"The body is over {limit} bytes", limit_bytes=limit)
        try:
            body = stream.read(declared)
        except UnreadablePostError as error:
            raise BadRequest("The body could not be read") from error
        if len(body) != declared:
            raise BadRequest("The body is shorter than its Content-Length")
        return strict_json.loads(body)


class ExactJsonRenderer(BaseRenderer):
    """Compact JSON with every character as it is; :class:`JsonText` passes through untouched."""

    media_type = "application/json"
    format = "json"
    charset = None
    render_style = "binary"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """The body as UTF-8. A lone surrogate, should one come from a client's header, leaves as its JSON escape."""
        if data is None:
            return b""
        text = data if isinstance(data, JsonText) else encode(data)
        return text.encode("utf-8", "backslashreplace")


class JsonNegotiation(DefaultContentNegotiation):
    """DRF's negotiation with a short way for clients that take JSON, which are nearly all of them."""

    _PLAIN: ClassVar[frozenset[str | None]] = frozenset({None, "", "*/*", "application/json"})

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        """The renderer and the media type."""
        if request.META.get("HTTP_ACCEPT") in self._PLAIN:
            return renderers[0], renderers[0].media_type
        # Not DRF's, as its ``format`` parameter would be a second, undocumented way to choose.
        accepts = self.get_accept_list(request)
        renderer = renderers[0]
        if any(_accepts_json(accept) for accept in accepts):
            return renderer, renderer.media_type
        return super().select_renderer(request, renderers, format_suffix)


def require_length(request: Request) -> None:
    """Refuse a body of unknown length, which the server would hand over as an empty one.

    Raises:
        LengthRequired: the body is sent in chunks.
    """
    if "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH"):
        raise LengthRequired("Send the body with a Content-Length")


def single_limit() -> int:
    """The most bytes a body with one payload may have: each byte of a payload may be written as a six-byte escape."""
    return 6 * config().max_payload_bytes + 65_536


def bulk_limit() -> int:
    """The most bytes a bulk body may have."""
    return max(BULK_LIMIT_BYTES, single_limit())


def _accepts_json(accept: str) -> bool:
    return accept.partition(";")[0].strip() in {"*/*", "application/*", "application/json"}


def _check_charset(media_type: str) -> None:
    _, found, rest = media_type.partition("charset=")
    if not found:
        return
    name = rest.partition(";")[0].strip().strip('"')
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        known = ""
    if known not in {"utf-8", "ascii"}:
        raise UnsupportedMediaType(media_type, detail="The charset must be UTF-8")
