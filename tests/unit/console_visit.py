"""A browser without a face that visits the console."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
from fastapi import FastAPI
from fastapi.testclient import TestClient


class Console:
    """Follows nothing, keeps cookies, knows its form token."""

    def __init__(self, client: httpx2.Client) -> None:
        self.client = client

    def get(self, path: str) -> httpx2.Response:
        return self.client.get(f"/console{path}")

    def token(self, path: str = "/sign-in") -> str:
        found = re.search(r'name="csrf" value="([0-9a-f]{64})"', self.get(path).text)
        assert found
        return found[1]

    def post(self, path: str, *, csrf: str | None = None, **fields: str) -> httpx2.Response:
        data = {"csrf": self.token() if csrf is None else csrf, **fields}
        return self.client.post(f"/console{path}", data=data)

    def sign_in(self, token: str, place: str = "/") -> httpx2.Response:
        return self.post("/sign-in", token=token, next=place)


@contextmanager
def visiting(app: FastAPI) -> Iterator[Console]:
    """Nobody in particular, on this machine."""
    with TestClient(
        app,
        "http://127.0.0.1:8000",
        raise_server_exceptions=False,
        follow_redirects=False,
        client=("127.0.0.1", 50_000),
    ) as client:
        yield Console(client)
