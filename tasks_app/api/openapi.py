"""The words that describe an endpoint: parameters, answers with an example each, and the refusals all share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeVar

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    PolymorphicProxySerializer,
    extend_schema,
    inline_serializer,
)
from rest_framework import serializers as drf

from tasks_app.api import examples
from tasks_app.api.errors import HTTP_STATUS, RETRY_AFTER_S
from tasks_app.api.query import MAX_LIMIT
from tasks_app.api.serializers.base import ProblemSerializer

F = TypeVar("F", bound=Callable[..., Any])


class Description(Protocol):
    """A decorator that leaves a view method's type as it is."""

    def __call__(self, method: F, /) -> F:
        """The method, described."""
        ...


_EVERY_REFUSAL = (
    "VALIDATION_ERROR",
    "BAD_REQUEST",
    "UNAUTHENTICATED",
    "FORBIDDEN",
    "NOT_ACCEPTABLE",
    "RATE_LIMITED",
    "INTERNAL_ERROR",
    "REDIS_UNAVAILABLE",
)
_BODY_REFUSALS = ("LENGTH_REQUIRED", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE")
_NO_BODY = object()

Answer = tuple[OpenApiResponse, tuple[OpenApiParameter, ...]]


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # its metaclass has no types
    """The key as the document names it, and the scope that each endpoint asks for."""

    target_class = "tasks_app.api.auth.ApiKeyAuthentication"
    name = "ApiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """The scheme."""
        return {
            "type": "apiKey",
            "in": "header",
            "name": "X-API-Key",
            "description": "Not asked for in open local mode. A named key has scopes, and may be for some queues only.",
        }

    def get_security_requirement(self, auto_schema: Any) -> dict[str, list[str]]:
        """The scope, as the view itself asks for it."""
        return {self.name: [auto_schema.view.needs[auto_schema.method]]}


def tell_scopes(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """A hook of the generator: say in words which scope an endpoint asks for."""
    for item in result["paths"].values():
        for described in item.values():
            [scope] = described["security"][0][ApiKeyScheme.name]
            words = f"Asks for the scope `{scope}`."
            described["description"] = f"{described.get('description', '')} {words}".strip()
    return result


def query(
    name: str, schema: dict[str, Any], description: str, *, where: Literal["query", "header"] = "query"
) -> OpenApiParameter:
    """An optional parameter."""
    return OpenApiParameter(name, schema, where, description=description)


def matching(pattern: str) -> dict[str, Any]:
    """The schema of a text that matches ``pattern`` as a whole."""
    return {"type": "string", "pattern": f"^{pattern}$"}


PAGE = (
    query("limit", {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}, "Items per page."),
    query("cursor", {"type": "string", "minLength": 1}, "`next` of the page before."),
)


def answer(
    shape: Any, description: str, example: dict[str, Any], *, location: bool = False, retry_after: bool = False
) -> Answer:
    """A successful answer with its example and headers."""
    headers = []
    if location:
        headers.append(OpenApiParameter("Location", str, OpenApiParameter.HEADER, description="The task's URL."))
    if retry_after:
        headers.append(_retry_after())
    body = OpenApiResponse(shape, description, [OpenApiExample("example", example, response_only=True)])
    return body, tuple(headers)


def page_of(item: Any) -> Any:
    """``{items, next}``."""
    is_class = isinstance(item, type)
    name = item.__name__.removesuffix("Serializer") if is_class else item.component_name
    return inline_serializer(
        f"{name}Page",
        {
            "items": item(many=True) if is_class else drf.ListField(child=item),
            "next": drf.CharField(allow_null=True, help_text="Send it as `cursor` for the next page."),
        },
    )


def either(name: str, *shapes: type[drf.Serializer[Any]]) -> PolymorphicProxySerializer:
    """One of several shapes."""
    return PolymorphicProxySerializer(name, [*shapes], None, many=False)


def endpoint(
    name: str,
    tag: str,
    summary: str,
    description: str,
    *,
    answers: dict[int, Answer],
    parameters: Sequence[OpenApiParameter] = (),
    request: Any = _NO_BODY,
    refusals: Sequence[str] = (),
) -> Description:
    """Describe one view method.

    Args:
        name: its ``operationId``, for generated clients.
        answers: by HTTP status.
        request: shape and example of the body, ``None`` for a POST that needs none, nothing for a GET.
        refusals: the codes that this endpoint can answer on top of those that all share.
    """
    codes = [*_EVERY_REFUSAL, *refusals, *(() if request is _NO_BODY else _BODY_REFUSALS)]
    responses: dict[Any, Any] = {status: body for status, (body, _) in answers.items()}
    headers = [_on(status, header) for status, (_, found) in answers.items() for header in found]
    for status in sorted({HTTP_STATUS[code] for code in codes}):
        here = [code for code in codes if HTTP_STATUS[code] == status]
        responses[status] = OpenApiResponse(
            ProblemSerializer,
            ", ".join(here),
            [OpenApiExample(code, examples.problem(code), response_only=True) for code in here],
        )
        if any(code in RETRY_AFTER_S for code in here):
            headers.append(_on(status, _retry_after()))
    has_body = request not in (_NO_BODY, None)
    sent = [OpenApiExample("example", request[1], request_only=True)] if has_body else []
    return extend_schema(
        operation_id=name,
        tags=[tag],
        summary=summary,
        description=description,
        parameters=[*parameters, *headers],
        request=request[0] if has_body else None,
        responses=responses,
        examples=sent,
    )


def _retry_after() -> OpenApiParameter:
    return OpenApiParameter("Retry-After", int, OpenApiParameter.HEADER, description="Seconds.")


def _on(status: int, header: OpenApiParameter) -> OpenApiParameter:
    return OpenApiParameter(
        header.name,
        header.type if header.type is not str else OpenApiTypes.STR,
        OpenApiParameter.HEADER,
        description=header.description,
        response=[status],
    )
