"""The OpenAPI document as a judge: is this answer one of those it announces?"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator, FormatChecker

PREFIX = "/api/v1"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z")
_FORMATS = FormatChecker(formats=())
# What any URL may answer, so that no operation lists it.
_EVERYWHERE = {404, 405}


@_FORMATS.checks("date-time")
def _is_moment(value: object) -> bool:
    return not isinstance(value, str) or _MOMENT.fullmatch(value) is not None


class Promise(NamedTuple):
    """One answer that the document announces."""

    operation_id: str
    method: str
    path: str
    status: int
    response: dict[str, Any]

    @property
    def content(self) -> dict[str, Any]:
        """Schema and examples."""
        content: dict[str, Any] = self.response["content"]["application/json"]
        return content


class Document:
    """The document, with members that it does not name forbidden everywhere."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self._components = {"schemas": {name: _closed(s) for name, s in schema["components"]["schemas"].items()}}

    def promises(self) -> Iterator[Promise]:
        """Every announced answer in JSON of every operation."""
        for path, item in self.schema["paths"].items():
            for method, operation in item.items():
                for status, response in operation["responses"].items():
                    if "application/json" in response["content"]:
                        yield Promise(operation["operationId"], method.upper(), path, int(status), response)

    def requests(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every operation with a body: its id, and the body's schema and examples."""
        for item in self.schema["paths"].values():
            for operation in item.values():
                if "requestBody" in operation:
                    yield operation["operationId"], operation["requestBody"]["content"]["application/json"]

    def complaints(self, schema: dict[str, Any], value: Any) -> list[str]:
        """What is wrong with ``value``; empty when it fits."""
        whole = schema | {"components": self._components}
        found = Draft202012Validator(whole, format_checker=_FORMATS).iter_errors(value)
        return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in found]

    def operation(self, method: str, path: str) -> dict[str, Any] | None:
        """The operation behind a URL's path; literal parts go before placeholders."""
        for template in sorted(self.schema["paths"], key=lambda template: template.count("{")):
            pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template))
            if re.fullmatch(pattern, path):
                operation: dict[str, Any] | None = self.schema["paths"][template].get(method.lower())
                return operation
        return None

    def judge(self, method: str, url: str, status: int, body: Any) -> list[str]:
        """What is wrong with an answer of the API; empty when the document announces it."""
        operation = self.operation(method, url.partition("?")[0])
        response = operation["responses"].get(str(status)) if operation else None
        if response is None:
            if operation is not None and status not in _EVERYWHERE:
                return [f"{operation['operationId']} does not announce {status}"]
            return self.complaints({"$ref": "#/components/schemas/Problem"}, body)
        found = self.complaints(response["content"]["application/json"]["schema"], body)
        if status >= 400 and body["code"] not in response["description"]:
            found.append(f"{operation['operationId']} does not announce {body['code']}" if operation else "")
        return found


@functools.cache
def document() -> Document:
    """The API's own."""
    return Document(SchemaGenerator().get_schema(request=None, public=True))


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(part) for name, part in schema.items()}
    if "properties" in closed:
        closed.setdefault("additionalProperties", False)
    return closed
