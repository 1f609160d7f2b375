"""The OpenAPI document: committed as it is served, valid, and whole in the ways that our style asks for."""

import json
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from openapi_spec_validator import validate

from api import openapi
from api.errors import STATUSES
from tests.paths import ROOT
from tests.unit.api.console_visit import Elements

COMMITTED = ROOT / "docs" / "openapi.json"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(COMMITTED.read_text())
    return loaded


def test_the_committed_document_is_the_one_that_is_served(app: FastAPI, client: httpx2.Client) -> None:
    assert COMMITTED.read_text() == openapi.written(app), "write it anew: make docs"
    assert client.get("/openapi.json").json() == json.loads(COMMITTED.read_text())


def test_it_is_valid_and_says_how_to_authenticate(document: dict[str, Any]) -> None:
    validate(document)
    ((name, scheme),) = document["components"]["securitySchemes"].items()
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    post = document["paths"]["/api/v1/redrives"]["post"]
    assert {name: []} in post["security"]
    assert {"401", "403", "413", "415", "429"} <= set(post["responses"])
    assert "security" not in document["paths"]["/livez"]["get"]


def test_every_operation_says_what_it_does(document: dict[str, Any]) -> None:
    ids = []
    tags = {tag["name"] for tag in document["tags"]}
    for path, method, operation in openapi.operations(document):
        ids.append(operation["operationId"])
        assert operation["summary"], path
        assert operation["description"].rstrip().endswith("."), path
        assert set(operation["tags"]) <= tags, path
        assert len(operation["tags"]) == 1, path
        for parameter in operation.get("parameters", ()):
            described = parameter["description"] or parameter["schema"].get("description")
            assert described, (path, parameter["name"])
        if path not in openapi.PUBLIC:
            assert "401" in operation["responses"], (path, method)
    assert len(ids) == len(set(ids))


def test_every_field_of_an_answer_has_an_example(document: dict[str, Any]) -> None:
    """Of what is no object, no list of them and no choice of one word."""
    missing = [
        f"{name}.{field}"
        for name, schema in document["components"]["schemas"].items()
        if not name.endswith(("Request", "Query")) and name not in PARTS
        for field, described in schema.get("properties", {}).items()
        if not ({"examples", "$ref", "const", "default"} & set(described)) and not _holds_others(described)
    ]
    assert missing == []


def _holds_others(described: dict[str, Any]) -> bool:
    return any("$ref" in part for part in (described.get("items", {}), *described.get("anyOf", ())))


PARTS = (
    "Guards",
    "Limits",
    "MapTarget",
    "OriginTarget",
    "Place",
    "Retry",
    "RetryTarget",
    "Selection",
    "TopicTarget",
)
"""Parts of requests, which have their example as a whole."""


def test_every_status_of_an_error_is_explained_with_its_types(document: dict[str, Any]) -> None:
    shown = document["components"]["responses"]
    for error, status in STATUSES.items():
        assert error.kind in shown[f"Problem{status}"]["description"]


ACTIVE = {"script", "style", "iframe", "object", "form"}


@pytest.mark.parametrize("path", openapi.PAGES)
def test_the_page_of_the_api_shows_every_operation_and_loads_nothing_of_others(
    client: httpx2.Client, document: dict[str, Any], path: str
) -> None:
    answer = client.get(path)
    assert answer.headers["content-security-policy"] == openapi.PAGE_POLICY
    links: list[str] = []
    loads: list[str] = []
    places: list[str] = []
    for tag, attributes in Elements(answer.text).found:
        assert tag not in ACTIVE
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        found = [attributes[name] for name in ("src", "href") if name in attributes]
        (links if tag == "a" else loads).extend(found)
        places += [attributes["id"]] if "id" in attributes else []
    assert loads
    for loaded in loads:
        assert loaded.startswith("/console/static/")
        assert client.get(loaded).status_code == 200
    ids = [operation["operationId"] for _, _, operation in openapi.operations(document)]
    assert [*dict.fromkeys(places)] == places
    assert {*ids, *(f"type-{name}" for name in document["components"]["schemas"])} <= set(places)
    assert {link[1:] for link in links if link.startswith("#")} <= set(places)
    assert "curl -X POST http://127.0.0.1:8000/api/v1/redrives" in answer.text
