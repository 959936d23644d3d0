"""The view all views of the API derive from: DRF with what this API does not use left out of each request's way."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.views import APIView

from tasks_app.api.auth import ApiKeyAuthentication, client_of
from tasks_app.api.errors import exception_handler
from tasks_app.api.media import ExactJsonRenderer, JsonNegotiation, StrictJsonParser, require_length, single_limit
from tasks_app.api.query import QueryReader
from tasks_app.domain.api_key import Scope
from tasks_app.domain.errors import NotFound, ValidationError

TASK_ID = re.compile(r"[0-9a-f]{32}")
WORKER_ID = re.compile(r"[\x21-\x7e]{1,255}")


class ApiView(APIView):
    """Strict JSON, the key and what it is good for, one error shape. No versions and no format suffixes."""

    authentication_classes = (ApiKeyAuthentication,)
    permission_classes = ()
    throttle_classes = ()
    parser_classes = (StrictJsonParser,)
    renderer_classes = (ExactJsonRenderer,)
    content_negotiation_class = JsonNegotiation
    versioning_class = None
    metadata_class = None
    http_method_names = ("get", "head", "post")

    needs: ClassVar[dict[str, Scope]] = {"GET": Scope.READ, "HEAD": Scope.READ, "POST": Scope.OPERATE}
    """The scope that each method asks for."""

    spans_queues: ClassVar[bool] = False
    """Whether it concerns all queues together, so that a key for some has no business here."""

    reads_query: ClassVar[frozenset[str]] = frozenset()
    """The methods that read parameters from the URL; all others refuse any."""

    takes_submissions: ClassVar[bool] = False
    """Whether what its POST refuses counts among the refused submissions."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Negotiate, authenticate, check rights, refuse stray parameters and bodies of unknown length."""
        self.format_kwarg = None
        request.accepted_renderer, request.accepted_media_type = self.perform_content_negotiation(request)
        self.perform_authentication(request)
        method = request.method or ""
        # A method that does not exist here is no question of rights or parameters; it is refused as such further on.
        if method in self.allowed_methods:
            client_of(request).require(self.needs[method], everywhere=self.spans_queues)
            if method not in self.reads_query and request.META.get("QUERY_STRING"):
                with QueryReader(request.GET):
                    pass
        require_length(request)

    def get_exception_handler(self) -> Callable[..., Any]:
        """The one handler, whatever the settings of the project around say."""
        return exception_handler

    @property
    def default_response_headers(self) -> dict[str, str]:
        """None: ``Allow`` goes out with 405 only, and there is one renderer to vary on."""
        return {}

    def body_limit(self) -> int:
        """The most bytes a body of this view may have."""
        return single_limit()


def path_part(text: str, pattern: re.Pattern[str], what: str) -> str:
    """``text`` when it can be the id or name of a ``what``.

    Raises:
        NotFound: it cannot.
    """
    if pattern.fullmatch(text) is None:
        raise NotFound(f"No such {what}")
    return text


def no_body(request: Request) -> None:
    """Refuse a body that this URL would ignore; none, or an empty object, is fine.

    Raises:
        ValidationError: names the members.
    """
    body_fields(request, frozenset())


def body_fields(request: Request, known: frozenset[str]) -> dict[str, Any]:
    """The members of an optional body.

    Raises:
        ValidationError: it is no object, or has a member that is not in ``known``.
    """
    body = request.data
    if not body and isinstance(body, dict):
        return {}
    if not isinstance(body, dict):
        raise ValidationError({"body": ["must be a JSON object"]})
    strangers = {str(name)[:64]: ["is not a field of this request"] for name in body if name not in known}
    if strangers:
        raise ValidationError(strangers)
    return body
