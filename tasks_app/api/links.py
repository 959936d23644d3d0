"""What the OpenAPI document says beyond single endpoints: links from one to the next, and that requests are strict."""

from __future__ import annotations

from typing import Any

_OF_A_TASK = (
    "showTask",
    "taskResult",
    "cancelTask",
    "requeueTask",
    "runTaskNow",
    "requeueDeadLetter",
    "discardDeadLetter",
)
_OF_A_QUEUE = ("showQueue", "pauseQueue", "resumeQueue", "purgeQueue")
# (operationId, status) -> where in its body a parameter's value is, the parameter, and who takes it.
_LINKS: dict[tuple[str, str], tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    ("submitTask", "202"): (("/id", "id", _OF_A_TASK), ("/queue", "name", _OF_A_QUEUE)),
    ("submitTask", "200"): (("/id", "id", _OF_A_TASK),),
    ("showTask", "200"): (("/id", "id", _OF_A_TASK), ("/queue", "name", _OF_A_QUEUE)),
    ("requeueTask", "202"): (("/id", "id", _OF_A_TASK),),
    ("pauseQueue", "200"): (("/name", "name", _OF_A_QUEUE),),
}


def add_links(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """A hook of drf-spectacular: puts the links beside the answers that they start from."""
    for path in result["paths"].values():
        for described in path.values():
            for status, response in described["responses"].items():
                for place, parameter, targets in _LINKS.get((described["operationId"], status), ()):
                    links = response.setdefault("links", {})
                    for target in targets:
                        links[target] = {
                            "operationId": target,
                            "parameters": {parameter: f"$response.body#{place}"},
                        }
    return result


def close_requests(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """A hook of drf-spectacular: a member that a request's shape does not name is refused."""
    for name, schema in result["components"]["schemas"].items():
        if name.endswith("Request") and "properties" in schema:
            schema["additionalProperties"] = False
    return result
