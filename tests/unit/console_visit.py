"""A browser without a face that visits the console."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser

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


class _Controls(HTMLParser):
    """What a browser would send of each form of a page, by the form's action."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: dict[str, dict[str, str]] = {}
        self._form: dict[str, str] = {}
        self._area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = self.forms.setdefault(told.get("action", ""), {})
        if tag == "textarea":
            self._area = told["name"]
            self._form[self._area] = ""
        picked = told.get("type") not in {"radio", "checkbox"} or "checked" in told
        if tag == "input" and "name" in told and picked:
            self._form[told["name"]] = told.get("value", "").replace("\r", "").replace("\n", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            written = self._form[self._area].replace("\r\n", "\n").replace("\r", "\n").removeprefix("\n")
            self._form[self._area] = written.replace("\n", "\r\n")
            self._area = ""

    def handle_data(self, data: str) -> None:
        if self._area:
            self._form[self._area] += data


def form_of(text: str, action: str) -> dict[str, str]:
    """The fields of a page's form as a browser sends them when nobody has touched it."""
    parser = _Controls()
    parser.feed(text)
    return parser.forms[f"/console{action}"]
