"""Every failure is a problem of RFC 9457 that tells what to do and nothing about our inside."""

import json
import logging
import re

import httpx2
import pytest
from fastapi import FastAPI

from api.errors import STATUSES, ApiError
from api.validation import allowed
from deadwatch.contract.errors import RequestError
from tests.unit.api.answers import problem


def with_a_kind(base: type[Exception]) -> set[type[Exception]]:
    """The errors below ``base`` that clients can tell apart."""
    found = {error for error in base.__subclasses__() if "kind" in vars(error)}
    return found.union(*map(with_a_kind, base.__subclasses__()))


def test_every_error_has_a_status_and_a_kind_of_its_own() -> None:
    every = with_a_kind(ApiError) | with_a_kind(RequestError)
    assert every == set(STATUSES)
    kinds = [error.kind for error in STATUSES]
    assert len(set(kinds)) == len(kinds)


def test_a_refusal_names_the_allowed_method_and_the_wrong_parameter(client: httpx2.Client) -> None:
    assert client.post("/api/v1/overview").headers["allow"] == "GET"
    (error,) = client.get("/api/v1/dead-letters/groups?limit=0").json()["errors"]
    assert (error["in"], error["name"]) == ("query", "limit")


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("body", "refused", "detail"),
    [
        (b"{bad", "422 invalid-request", "body: this is no JSON: Expecting property name .*, at character 1"),
        (b"[]", "422 invalid-request", "body: this takes an object with fields"),
        (
            b'{"target": {"kind": "map", "map": 3}, "retry": 5, "drop_headers": 3, "dlq_topics": 3}',
            "422 invalid-request",
            "target.map.map: this takes an object with fields; retry: this takes an object with fields; "
            "drop_headers: this takes a list; reason: Field required; dlq_topics: this takes a list",
        ),
        (
            b'{"reason": "x", "dlq_topics": [1' + b",1" * 29 + b"]}",
            "422 invalid-request",
            r"(dlq_topics\.1?\d: Input should be a valid string; ){20}and 11 more",
        ),
        (b'{"reason": "\xff"}', "400 bad-request", "POST .*: There was an error parsing the body; /docs .*"),
    ],
)
def test_a_body_of_another_kind_is_refused_in_words(
    client: httpx2.Client, body: bytes, refused: str, detail: str
) -> None:
    json_type = {"content-type": "application/json"}
    answer = client.post("/api/v1/redrive-policies", content=body, headers=json_type)
    assert problem(answer) == refused
    assert re.fullmatch(detail, answer.json()["detail"])


def test_every_pattern_of_the_api_has_words_for_what_it_allows(client: httpx2.Client) -> None:
    document = client.get("/openapi.json").text
    patterns = {json.loads(found) for found in re.findall(r'"pattern":("(?:[^"\\]|\\.)*")', document)}
    assert len(patterns) > 5
    assert {pattern for pattern in patterns if not allowed(pattern)} == set()


def test_an_unexpected_error_is_answered_by_an_id_that_the_log_has_in_one_line(
    app: FastAPI, client: httpx2.Client, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(name: str) -> None:
        raise RuntimeError(f"the inside of {name}")

    app.add_api_route("/broken/{name}", broken)
    with caplog.at_level(logging.ERROR):
        answer = client.get("/broken/a%0d%0a2027%20ERROR%20all%20is%20lost")
    assert problem(answer) == "500 unexpected"
    assert "inside" not in answer.text
    (line,) = [record.getMessage() for record in caplog.records if record.name == "api.problems"]
    assert answer.json()["request_id"] in line
    assert line.isprintable()
    assert answer.headers["x-content-type-options"] == "nosniff"
