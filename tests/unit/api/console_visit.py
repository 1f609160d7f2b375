"""A visit to the console over HTTP, without a browser: it keeps cookies and sends forms."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from html.parser import HTMLParser
from typing import Final

import httpx2
from fastapi import FastAPI

from api.auth.role import Role
from deadwatch.deadletter.record import DeadLetter, parse_record
from tests import console_store
from tests.caller import Caller

PAGES: Final = {
    "overview": "/",
    "groups": "/groups",
    "archived": "/groups?state=archived&order=records",
    "topics": "/topics",
    "redrives": "/redrives",
    "policies": "/policies",
    "parked": "/parked",
    "tasks": "/tasks",
    "deliveries": "/delivery-timeouts",
    "findings": "/findings",
    "health": "/health",
    "settings": "/settings",
}
"""What everybody may look at, whatever the store holds."""
FILLED: Final = {
    "group": f"/groups/{console_store.MAIN_GROUP}",
    "hostile": f"/groups/{console_store.HOSTILE_GROUP}",
    "dry-run": f"/redrives/{console_store.DRY}",
    "running": f"/redrives/{console_store.RUNNING}",
    "done": f"/redrives/{console_store.DONE}",
    "policy": f"/policies/{console_store.POLICY}",
}
"""What is there besides where the store is full."""


class Console:
    """A visitor that follows no redirect, keeps cookies and finds the CSRF token of a page."""

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


class OneRecord:
    """Stands for Kafka: a record with the key ``ada`` and these headers, wherever one looks."""

    def __init__(self, *headers: tuple[str, bytes]) -> None:
        self._headers = headers

    def record(self, topic: str, partition: int, offset: int) -> DeadLetter:
        return parse_record(topic, partition, offset, 0, b"ada", None, self._headers)


@contextmanager
def visiting(app: FastAPI) -> Iterator[Console]:
    """An anonymous visitor on this machine."""
    with Caller(app, "http://127.0.0.1:8000", raising=False) as client:
        yield Console(client)


def token_for(app: FastAPI, role: Role) -> str:
    """The text of a new token with a role."""
    _, credential = app.state.service.tokens.create(f"ann the {role}", role, 0, "test", lambda *_: None)
    return str(credential.text)


LIVE: Final = "live from:body"
VOID: Final = {"br", "hr", "img", "input", "link", "meta"}


class Elements(HTMLParser):
    """The elements of a page with their attributes; ``renewed``: of what renews itself, those inside."""

    def __init__(self, text: str, *, renewed: bool = False) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self._renewed, self._depth = renewed, 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if self._depth or not self._renewed:
            self.found.append((tag, attributes))
        if (self._depth or LIVE in attributes.get("hx-trigger", "")) and tag not in VOID:
            self._depth += 1

    def handle_endtag(self, tag: str) -> None:
        if self._depth and tag not in VOID:
            self._depth -= 1


class _Controls(HTMLParser):
    """The fields that a browser would send for each form of a page, by the action of the form."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: dict[str, dict[str, str]] = {}
        self._form: dict[str, str] = {}
        self._area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = self.forms.setdefault(attributes.get("action", ""), {})
        if tag == "textarea":
            self._area = attributes["name"]
            self._form[self._area] = ""
        picked = attributes.get("type") not in {"radio", "checkbox"} or "checked" in attributes
        if tag == "input" and "name" in attributes and picked:
            self._form[attributes["name"]] = attributes.get("value", "").replace("\r", "").replace("\n", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            written = self._form[self._area].replace("\r\n", "\n").replace("\r", "\n").removeprefix("\n")
            self._form[self._area] = written.replace("\n", "\r\n")
            self._area = ""

    def handle_data(self, data: str) -> None:
        if self._area:
            self._form[self._area] += data


def words(text: str) -> str:
    """The text of a page without its markup."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


def form_of(text: str, action: str) -> dict[str, str]:
    """The fields of a page's form as a browser sends them when nobody has touched it."""
    parser = _Controls()
    parser.feed(text)
    return parser.forms[f"/console{action}"]
