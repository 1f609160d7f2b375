"""The OpenAPI document: what the framework derives from the routes, completed by what it cannot know.

``python -m api.openapi docs/openapi.json`` writes the committed copy; a test holds it against the routes.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from api.errors import REDRIVE_STATUS, STATUS, TOKEN_STATUS
from api.problems import TYPE_PREFIX, ProblemResponse
from api.schemas import Problem

Operation = dict[str, Any]

BEARER: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token of `deadwatch token create`. Reading needs none where reads are anonymous.",
}
TAGS: Final = {
    "health": "Whether the process lives, and whether it can answer.",
    "metrics": "For Prometheus, and for agents that read Kafka's beans.",
    "overview": "One screen: what is dead, late or abandoned now.",
    "live": "The same, as it changes.",
    "dead letters": "Dead letters by topic and by cause, and what people say of a cause.",
    "records": "Records of dead letter topics, as they are in Kafka.",
    "tasks": "Tasks of Kafka Streams and of Kafka Connect.",
    "abandoned": "What Connect workers have let go of and what still runs.",
    "delivery timeouts": "What producers gave up.",
    "findings": "Configurations that would lose or strand records.",
    "redrives": "Orders that put records back.",
    "redrive policies": "Standing orders.",
    "series": "Counters over time.",
    "tokens": "Who may ask.",
    "audit": "Who did what.",
}
WHY: Final = {
    400: "The cursor is not one of this list, or the body is no JSON.",
    401: "Nobody said who they are, or the token is not valid.",
    403: "The role is not enough.",
    404: "There is no such thing.",
    409: "It cannot be done in the state that things are in.",
    412: "It was changed since it was read.",
    413: "The body is too large.",
    415: "The body is no JSON.",
    422: "The request is not valid; `detail` says what to change.",
    429: "Too many at a time; `Retry-After` says when to come again.",
    503: "The store or Kafka cannot be asked now.",
}
CHANGING: Final = frozenset({"post", "put", "delete", "patch"})
PLACES: Final = {
    "fingerprint": "Of a group of dead letters.",
    "topic": "A dead letter topic, or one of parked records.",
    "partition": "Of the topic, counted from 0.",
    "offset": "In the partition.",
    "order": "Id of a redrive.",
    "policy": "Id of a redrive policy.",
    "token": "Id of a token.",
    "accept": "`application/openmetrics-text` for OpenMetrics.",
    "idempotency-key": "The same key makes one order, however often it is sent.",
}
PUBLIC: Final = frozenset({"/livez", "/readyz"})


def operation_id(route: APIRoute) -> str:
    """A name that stays: the path without version and parameters, and what it does."""
    words = [part for part in route.path.removeprefix("/api/v1").split("/") if part and "{" not in part]
    method = min(route.methods or {"GET"}).lower()
    through = ["by", *(part.strip("{}").split(":")[0] for part in route.path.split("/") if "{" in part)]
    return "_".join([method, *words, *(through if len(through) > 1 else ())]).replace("-", "_")


def install(app: FastAPI) -> None:
    """Let ``app`` answer with the completed document."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = document(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # as FastAPI's manual has it


def document(app: FastAPI) -> dict[str, Any]:
    """The whole document."""
    told = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=app.routes,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        servers=[{"url": "/"}],
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
    )
    schemas = told["components"]["schemas"]
    for ours in ("HTTPValidationError", "ValidationError"):
        schemas.pop(ours, None)
    schemas["Problem"] = {**Problem.model_json_schema(), "additionalProperties": True}
    told["components"]["responses"] = {f"Problem{status}": _problem(status) for status in WHY}
    told["components"]["securitySchemes"] = {"bearer": BEARER}
    for path, method, operation in operations(told):
        _complete(path, method, operation)
    return told


def operations(told: dict[str, Any]) -> Iterator[tuple[str, str, Operation]]:
    """Path, method and operation."""
    for path, item in told["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


def _complete(path: str, method: str, operation: Operation) -> None:
    for parameter in operation.get("parameters", ()):
        parameter.setdefault("description", PLACES.get(parameter["name"], ""))
    answers = {status: answer for status, answer in operation["responses"].items() if int(status) < 400}  # noqa: PLR2004
    for answer in answers.values():
        for kind in answer.get("content", {}).values():
            if kind.pop("itemSchema", None):  # of a later version of the specification
                kind["schema"] = {"type": "string"}
    own = {"503": operation["responses"]["503"]} if path == "/readyz" else {}
    if path not in PUBLIC:
        operation["security"] = [{"bearer": []}] if method in CHANGING else [{}, {"bearer": []}]
    for status in sorted(_statuses(path, method, operation)):
        answers[str(status)] = {"$ref": f"#/components/responses/Problem{status}"}
    operation["responses"] = dict(sorted({**answers, **own}.items()))


def _statuses(path: str, method: str, operation: Operation) -> set[int]:
    """With what the operation can refuse."""
    names = {parameter["name"] for parameter in operation.get("parameters", ())}
    if path in PUBLIC:
        return set()
    possible = {401, 403, 422, 429, 503}
    if "{" in path or "topic" in names:
        possible |= {404}
    if "after" in names or "requestBody" in operation:
        possible |= {400}
    if method in CHANGING:
        possible |= {409, 412, 413, 415}
    return possible


def _problem(status: int) -> dict[str, Any]:
    kinds = {
        error.kind
        for table in (STATUS, REDRIVE_STATUS, TOKEN_STATUS)
        for error, code in table.items()
        if code == status
    }
    described = f"{WHY[status]} Types: {', '.join(sorted(kinds))}." if kinds else WHY[status]
    example = {"type": f"{TYPE_PREFIX}{min(kinds, default='invalid-request')}", "status": status}
    shown = {"title": "What it is", "detail": "What is wrong, and what to do.", **example}
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        "description": described,
        "content": {ProblemResponse.media_type: {"schema": schema, "example": shown}},
    }


def written(app: FastAPI) -> str:
    """The document as it is committed."""
    return json.dumps(document(app), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    from api.app import create_app
    from api.settings import ApiSettings

    Path(sys.argv[1]).write_text(written(create_app(ApiSettings.model_construct())))
