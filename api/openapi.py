"""The OpenAPI document: what the framework derives from the routes, completed by what it cannot know.

``make docs`` writes the committed copy, ``docs/openapi.json``; a test compares the two.
``/docs`` and ``/redoc`` show it as a page that is made here: it loads the console's style sheet and nothing
else.
"""

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from starlette.routing import BaseRoute

from api.errors import STATUSES
from api.problems import TYPE_PREFIX, Problem, ProblemResponse
from deadwatch.runtime.version import VERSION

Operation = dict[str, Any]
TITLE: Final = "Deadwatch"
DESCRIPTION: Final = "What Kafka gave up on: dead letters, timeouts, abandoned tasks."
BEARER: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token of `deadwatch token create`. Reading needs none where reads are anonymous.",
}
TAGS: Final = {
    "health": "Whether the process lives, and whether it can answer.",
    "metrics": "For Prometheus, and for agents that read Kafka's beans.",
    "overview": "One screen: what is dead, late or abandoned now.",
    "live": "The overview and the first pages of lists, as they change.",
    "dead letters": "Dead letters by topic and by cause, and people's notes on a cause.",
    "records": "Records of dead letter topics, as they are in Kafka.",
    "tasks": "Tasks of Kafka Streams and of Kafka Connect.",
    "abandoned": "Connectors and tasks that Connect workers have abandoned.",
    "delivery timeouts": "Batches and records that producers gave up.",
    "findings": "Configurations that would lose or strand records.",
    "redrives": "Orders that put records back.",
    "redrive policies": "Standing orders.",
    "series": "Counters over time.",
    "tokens": "Who may use the api.",
    "audit": "Who did what.",
}
WHY: Final = {
    400: "The header Host or the cursor cannot be read, or the body is no UTF-8.",
    401: "Credentials are missing or not valid.",
    403: "The role is not enough.",
    404: "There is no such thing.",
    409: "It cannot be done in the present state.",
    412: "It was changed since it was read.",
    413: "The body is too large.",
    415: "The body is no JSON.",
    422: "The request is not valid; `detail` says what to change.",
    429: "Too many at a time; `Retry-After` says when to come again.",
    503: "The store or Kafka does not answer now.",
}
CHANGING: Final = frozenset({"post", "put", "delete", "patch"})
PLACES: Final = {
    "fingerprint": "Fingerprint of a group of dead letters.",
    "topic": "A dead letter topic, or one of parked records.",
    "partition": "Of the topic, counted from 0.",
    "offset": "In the partition.",
    "order": "Id of a redrive.",
    "policy": "Id of a redrive policy.",
    "token": "Id of a token.",
    "accept": "`application/openmetrics-text` for OpenMetrics.",
    "idempotency-key": "The same key makes one order, however often it is sent.",
}
PAGES: Final = ("/docs", "/redoc")
PUBLIC: Final = frozenset({"/livez", "/readyz"})


def operation_id(route: APIRoute) -> str:
    """A stable name: the path without version and parameters, and what it does."""
    words = [part for part in route.path.removeprefix("/api/v1").split("/") if part and "{" not in part]
    method = min(route.methods or {"GET"}).lower()
    through = ["by", *(part.strip("{}").split(":")[0] for part in route.path.split("/") if "{" in part)]
    return "_".join([method, *words, *(through if len(through) > 1 else ())]).replace("-", "_")


def install(app: FastAPI, made: Callable[[], dict[str, Any]]) -> None:
    """Let ``app`` answer with the document that ``made`` gives, and with its page."""
    app.openapi = made  # type: ignore[method-assign]  # as FastAPI's manual has it
    for path in PAGES:
        app.add_api_route(path, _page, include_in_schema=False)


def document(routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """The OpenAPI document of an api with these routes, completed."""
    spec = get_openapi(
        title=TITLE,
        version=VERSION,
        description=DESCRIPTION,
        routes=routes,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        servers=[{"url": "/"}],
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
    )
    schemas = spec["components"]["schemas"]
    for ours in ("HTTPValidationError", "ValidationError"):
        schemas.pop(ours, None)
    schemas["Problem"] = {**Problem.model_json_schema(), "additionalProperties": True}
    spec["components"]["responses"] = {f"Problem{status}": _problem(status) for status in WHY}
    spec["components"]["securitySchemes"] = {"bearer": BEARER}
    for path, method, operation in operations(spec):
        _complete(path, method, operation)
    return spec


def operations(spec: dict[str, Any]) -> Iterator[tuple[str, str, Operation]]:
    """Path, method and operation, one by one."""
    for path, item in spec["paths"].items():
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
    """The statuses with which the operation can refuse a request."""
    names = {parameter["name"] for parameter in operation.get("parameters", ())}
    if path in PUBLIC:
        return set()
    possible = {400, 401, 403, 422, 429, 503}
    if "{" in path or "topic" in names:
        possible |= {404}
    if method in CHANGING:
        possible |= {409, 412, 413, 415}
    return possible


def _problem(status: int) -> dict[str, Any]:
    kinds = {error.kind for error, code in STATUSES.items() if code == status}
    described = f"{WHY[status]} Types: {', '.join(sorted(kinds))}." if kinds else WHY[status]
    example = {"type": f"{TYPE_PREFIX}{min(kinds, default='invalid-request')}", "status": status}
    shown = {"title": "What it is", "detail": "What is wrong, and what to do.", **example}
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        "description": described,
        "content": {ProblemResponse.media_type: {"schema": schema, "example": shown}},
    }


TEMPLATES: Final = Path(__file__).parent / "console" / "templates"
PAGE_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
REFERENCE: Final = "#/components/schemas/"


def _page(request: Request) -> HTMLResponse:
    """The document as a page."""
    return HTMLResponse(_rendered(request.app), headers={"Content-Security-Policy": PAGE_POLICY})


@lru_cache(maxsize=4)
def _rendered(app: FastAPI) -> str:
    spec = app.openapi()
    templates = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True)
    return templates.get_template("api.html").render(
        spec=spec,
        operations=[*operations(spec)],
        version=app.version,
        kind=_kind,
        command=_command,
    )


def _kind(schema: dict[str, Any]) -> Markup:
    """The type of a value in words, with links to types that have a name."""
    if name := str(schema.get("$ref", "")).removeprefix(REFERENCE):
        return Markup('<a href="#type-{0}">{0}</a>').format(name)
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return Markup(" or ").join(map(_kind, choices))
    if "const" in schema or "enum" in schema:
        return Markup(", ").join(schema.get("enum") or [schema["const"]])
    kinds = schema.get("type", "any")
    kind = Markup(" or ").join([kinds] if isinstance(kinds, str) else kinds)
    if "items" in schema:
        return Markup("{} of {}").format(kind, _kind(schema["items"]))
    if isinstance(inner := schema.get("additionalProperties"), dict):
        return Markup("{} of {}").format(kind, _kind(inner))
    bounds = [
        f"{sign} {schema[name]}"
        for name, sign in (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"))
        if name in schema
    ]
    form = [str(schema["format"])] if "format" in schema else []
    default = [f"default {json.dumps(schema['default'])}"] if "default" in schema else []
    return Markup(", ").join([kind, *form, *bounds, *default])


def _command(path: str, method: str, operation: Operation) -> str:
    """A command line that calls the operation; names in capitals stand for values."""
    needed = [
        f"{parameter['name']}={parameter['name'].upper()}"
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query" and parameter.get("required")
    ]
    address = "http://127.0.0.1:8000" + path.replace("{", "").replace("}", "").replace(":path", "")
    words = ["curl", "-X", method.upper(), address + ("?" + "&".join(needed) if needed else "")]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    if body:
        example = (body.get("examples") or [{}])[0]
        words += ["-H", "Content-Type: application/json", "-d", json.dumps(example)]
    token = ' -H "Authorization: Bearer $DEADWATCH_TOKEN"' if operation.get("security") else ""
    return shlex.join(words) + token


def written(app: FastAPI) -> str:
    """The document as the committed file has it."""
    return json.dumps(app.openapi(), indent=1, ensure_ascii=False) + "\n"
