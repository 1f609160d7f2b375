"""Every failure is a problem of RFC 9457 that tells what to do and nothing about our inside."""

import logging
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI

from api import errors
from api.errors import REDRIVE_STATUS, STATUS, ApiError
from streaming.redrive.errors import RedriveError

PROBLEM = "application/problem+json"


def test_every_error_has_a_status_and_a_kind_of_its_own() -> None:
    declared = {cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, ApiError)}
    assert set(ApiError.__subclasses__()) == set(STATUS) == declared - {ApiError}
    assert set(RedriveError.__subclasses__()) == set(REDRIVE_STATUS)
    kinds = [*(error.kind for error in STATUS), *(error.kind for error in REDRIVE_STATUS)]
    assert len(set(kinds)) == len(kinds)


@pytest.mark.parametrize(
    ("request_line", "told"),
    [
        ("GET /nothing", "404 not-found"),
        ("GET /api/v1/nothing", "404 not-found"),
        ("POST /api/v1/overview", "405 method-not-allowed"),
        ("GET /api/v1/overview?x=1", "422 unexpected-parameter"),
        ("GET /api/v1/tasks?limt=5", "422 invalid-request"),
        ("GET /api/v1/tasks?after=WyIuIiwiLiJd", "400 invalid-cursor"),
        ("GET /api/v1/dead-letters/groups?limt=5", "422 invalid-request"),
        ("GET /api/v1/dead-letters/groups?limit=0", "422 invalid-request"),
        ("GET /api/v1/dead-letters/groups?limit=501", "422 invalid-request"),
        ("GET /api/v1/dead-letters/groups?limit=many", "422 invalid-request"),
        ("GET /api/v1/dead-letters/groups?after=xx", "400 invalid-cursor"),
        ("GET /api/v1/dead-letters/topics?after=xx", "400 invalid-cursor"),
        ("GET /api/v1/dead-letters/groups/ffffffffffffffff", "404 unknown-group"),
        ("GET /api/v1/dead-letters/groups/%00", "422 invalid-request"),
    ],
)
@pytest.mark.usefixtures("store")
def test_a_refusal_is_a_problem(client: httpx2.Client, request_line: str, told: str) -> None:
    answer = client.request(*request_line.split())
    status, kind = told.split()
    assert (answer.status_code, answer.headers["content-type"]) == (int(status), PROBLEM)
    body = answer.json()
    assert (body["type"], body["status"]) == (f"urn:deadwatch:problem:{kind}", int(status))
    assert body["title"]
    assert body["detail"]


def test_405_names_the_method_that_is_allowed(client: httpx2.Client) -> None:
    assert client.post("/api/v1/overview").headers["allow"] == "GET"


def test_a_wrong_parameter_is_named(client: httpx2.Client) -> None:
    errors_told = client.get("/api/v1/dead-letters/groups?limit=0").json()["errors"]
    assert [(one["in"], one["name"]) for one in errors_told] == [("query", "limit")]


def test_the_unforeseen_is_told_by_an_id_that_the_log_knows(
    app: FastAPI, client: httpx2.Client, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise RuntimeError("the inside")

    app.add_api_route("/broken", broken)
    with caplog.at_level(logging.ERROR):
        answer = client.get("/broken")
    assert (answer.status_code, answer.headers["content-type"]) == (500, PROBLEM)
    assert "inside" not in answer.text
    assert answer.json()["request_id"] in caplog.text
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/livez", "/metrics", "/api/v1/overview", "/nothing", "/docs"])
def test_every_answer_is_for_nobody_s_cache_and_is_what_it_says(client: httpx2.Client, path: str) -> None:
    headers = client.get(path).headers
    assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")


def test_an_answer_without_store_names_no_file(client: httpx2.Client, store_file: Path) -> None:
    assert str(store_file.parent) not in client.get("/api/v1/overview").text
