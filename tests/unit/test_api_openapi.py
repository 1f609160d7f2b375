"""The OpenAPI document: committed as it is served, valid, and whole in the ways that our style asks for."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from openapi_spec_validator import validate

from api import openapi
from api.errors import REDRIVE_STATUS, STATUS, TOKEN_STATUS

COMMITTED = Path(__file__).parents[2] / "docs" / "openapi.json"


@pytest.fixture
def told(app: FastAPI) -> dict[str, Any]:
    return openapi.document(app)


def test_the_committed_document_is_the_one_that_is_served(app: FastAPI, client: httpx2.Client) -> None:
    assert COMMITTED.read_text() == openapi.written(app), "write it anew: make docs"
    assert client.get("/openapi.json").json() == json.loads(COMMITTED.read_text())


def test_it_is_valid(told: dict[str, Any]) -> None:
    validate(told)


def test_every_operation_says_what_it_does(told: dict[str, Any]) -> None:
    ids = []
    tags = {tag["name"] for tag in told["tags"]}
    for path, method, operation in openapi.operations(told):
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


def test_every_field_of_an_answer_has_an_example(told: dict[str, Any]) -> None:
    """Of what is no object, no list of them and no choice of one word."""
    missing = [
        f"{name}.{field}"
        for name, schema in told["components"]["schemas"].items()
        if not name.endswith(("Request", "Query")) and name not in OF_STREAMING
        for field, said in schema.get("properties", {}).items()
        if not ({"examples", "$ref", "const", "default"} & set(said)) and not _holds_others(said)
    ]
    assert missing == []


def _holds_others(said: dict[str, Any]) -> bool:
    return "$ref" in said.get("items", {}) or any("$ref" in one for one in said.get("anyOf", ()))


OF_STREAMING = frozenset(
    {
        "Guards",
        "Limits",
        "MapTarget",
        "OriginTarget",
        "Place",
        "Retry",
        "RetryTarget",
        "Selection",
        "TopicTarget",
    }
)
"""Parts of requests, which have their example as a whole."""


def test_every_status_of_an_error_is_explained_with_its_types(told: dict[str, Any]) -> None:
    shown = told["components"]["responses"]
    for table in (STATUS, REDRIVE_STATUS, TOKEN_STATUS):
        for error, status in table.items():
            assert error.kind in shown[f"Problem{status}"]["description"]


def test_other_origins_are_not_let_in(client: httpx2.Client) -> None:
    headers = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "GET"}
    for answer in (
        client.get("/api/v1/overview", headers=headers),
        client.options("/api/v1/overview", headers=headers),
    ):
        assert not [name for name in answer.headers if name.startswith("access-control")]
