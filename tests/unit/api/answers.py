"""Answers of the api: pages of a list, one after the other, and problems."""

from collections.abc import Iterator

import httpx2


def pages(client: httpx2.Client, path: str, limit: int) -> Iterator[list[dict[str, object]]]:
    """The items of every page of a list."""
    after: dict[str, str] = {}
    while True:
        body = client.get(httpx2.URL(path).copy_merge_params({"limit": limit, **after})).json()
        yield body["items"]
        if body["next"] is None:
            return
        after = {"after": body["next"]}


def problem(answer: httpx2.Response) -> str:
    """Status and kind of a problem, as ``404 unknown-group``; it is a whole one."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    told = answer.json()
    assert (told["status"], bool(told["title"]), bool(told["detail"])) == (answer.status_code, True, True)
    assert told["request_id"] == answer.headers["x-request-id"]
    return f"{answer.status_code} {told['type'].removeprefix('urn:deadwatch:problem:')}"
