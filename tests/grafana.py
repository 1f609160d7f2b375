"""A double of Grafana's HTTP interface as documented: folders, search, dashboards, data sources, accounts.

A dashboard is saved only if its version is the one that is there, a title is unique within a folder, and
what Grafana adds to a dashboard (id, version, defaults of its own) is added here too. Every request that
changes something is kept, exactly as it came.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests import http_server
from tests.http_server import QuietHandler

TOKEN = "glsa_double"
VIEWER = "glsa_viewer"
Answer = tuple[int, Any]
Json = dict[str, Any]
CHANGED = (412, {"message": "the folder has been changed by someone else", "status": "version-mismatch"})


@dataclass
class State:
    """What this Grafana holds, and what it is to do wrong."""

    folders: dict[str, Json] = field(default_factory=dict)
    dashboards: dict[str, Json] = field(default_factory=dict)
    datasources: dict[str, Json] = field(default_factory=dict)
    accounts: list[Json] = field(default_factory=list)
    changes: list[tuple[str, str, Any]] = field(default_factory=list)
    failures: list[int] = field(default_factory=list)
    lost_answers: int = 0

    def titled(self, title: str, folder: str) -> list[str]:
        return [
            uid
            for uid, found in self.dashboards.items()
            if found["dashboard"]["title"] == title and found["meta"]["folderUid"] == folder
        ]


@dataclass(frozen=True)
class Double:
    """A running double."""

    url: str
    state: State


@contextmanager
def running(prefix: str = "") -> Iterator[Double]:
    """Serve on a loopback port, below ``prefix``."""
    state = State()

    class Handler(_Handler):
        held = state
        below = prefix

    with http_server.running(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield Double(f"http://127.0.0.1:{server.server_port}{prefix}", state)


class _Handler(QuietHandler):
    held: State
    below: str

    def do_GET(self) -> None:
        self._serve({})

    def do_POST(self) -> None:
        body = json.loads(self.body())
        self.held.changes.append((self.command, self.path.removeprefix(f"{self.below}/api"), body))
        self._serve(body)

    do_PUT = do_POST

    def _serve(self, body: Json) -> None:
        status, told = self._answer(body)
        if status == 200 and self.command != "GET" and self.held.lost_answers:
            self.held.lost_answers -= 1
            self.close_connection = True
            return
        self.send(status, json.dumps(told).encode(), content_type="application/json", location="/elsewhere")

    def _answer(self, body: Json) -> Answer:
        if self.held.failures:
            return self.held.failures.pop(0), {"message": "later"}
        role = {f"Bearer {TOKEN}": "Admin", f"Bearer {VIEWER}": "Viewer"}.get(self.headers["Authorization"])
        if role is None:
            return 401, {"message": "Invalid API key"}
        if role == "Viewer" and self.command != "GET":
            return 403, {"message": "You'll need additional permissions to perform this action."}
        address = urlsplit(self.path.removeprefix(f"{self.below}/api"))
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        return self._route([self.command, *address.path.strip("/").split("/")], query, body)

    def _route(self, way: list[str], query: Mapping[str, str], body: Json) -> Answer:  # noqa: C901, PLR0911 - a table
        match way:
            case ["GET", "folders", uid]:
                return _found(self.held.folders, uid)
            case ["POST", "folders"]:
                return self._create_folder(body)
            case ["PUT", "folders", uid]:
                return self._rename_folder(self.held.folders[uid], body)
            case ["GET", "search"]:
                return 200, self._search(query)
            case ["GET", "dashboards", "uid", uid]:
                return _found(self.held.dashboards, uid)
            case ["POST", "dashboards", "db"]:
                return self._save(body)
            case [_, "datasources", *rest]:
                return self._sources(rest, body)
            case [_, "serviceaccounts", *rest]:
                return self._accounts(rest, query, body)
            case _:
                return 404, {"message": "Not found"}

    def _sources(self, rest: list[str], body: Json) -> Answer:
        match [self.command, *rest]:
            case ["GET", "uid", uid]:
                return _found(self.held.datasources, uid)
            case ["PUT", "uid", uid]:
                return self._replace_datasource(uid, body)
            case _:
                self.held.datasources[body["uid"]] = {"id": 1, "version": 1, "readOnly": False, **body}
                return 200, {"message": "Datasource added"}

    def _create_folder(self, body: Json) -> Answer:
        if body["uid"] in self.held.folders:
            return CHANGED
        self.held.folders[body["uid"]] = {"id": 1, "version": 1, **body}
        return 200, self.held.folders[body["uid"]]

    def _rename_folder(self, folder: Json, body: Json) -> Answer:
        if body.get("version") != folder["version"] and not body.get("overwrite"):
            return CHANGED
        folder |= {"title": body["title"], "version": folder["version"] + 1}
        return 200, folder

    def _search(self, query: Mapping[str, str]) -> list[Json]:
        return [
            {"uid": uid, "title": found["dashboard"]["title"], "type": "dash-db"}
            for uid, found in self.held.dashboards.items()
            if query.get("query", "").lower() in found["dashboard"]["title"].lower()
        ]

    def _save(self, body: Json) -> Answer:
        sent, folder, overwrite = body["dashboard"], body.get("folderUid", ""), body.get("overwrite", False)
        there = self.held.dashboards.get(sent["uid"])
        if folder and folder not in self.held.folders:
            return 400, {"message": "folder not found"}
        if there is None and sent.get("id") is not None:
            return 404, {"message": "Dashboard not found", "status": "not-found"}
        if not overwrite:
            if there is not None and sent.get("version") != there["dashboard"]["version"]:
                message = "The dashboard has been changed by someone else"
                return 412, {"message": message, "status": "version-mismatch"}
            if there is None and self.held.titled(sent["title"], folder):
                message = "A dashboard with the same name in the folder already exists"
                return 412, {"message": message, "status": "name-exists"}
        version = there["dashboard"]["version"] + 1 if there else 1
        number = there["dashboard"]["id"] if there else len(self.held.dashboards) + 1
        stored = {"liveNow": False, "weekStart": "", **sent, "id": number, "version": version}
        meta = {"folderUid": folder, "version": version, "type": "db"}
        self.held.dashboards[sent["uid"]] = {"dashboard": stored, "meta": meta}
        return 200, {"id": number, "uid": sent["uid"], "status": "success", "version": version}

    def _replace_datasource(self, uid: str, body: Json) -> Answer:
        there = self.held.datasources[uid]
        if body.get("version") not in {None, there["version"]}:
            return 409, {"message": "Datasource has already been updated by someone else."}
        self.held.datasources[uid] = {**body, "version": there["version"] + 1}
        return 200, {"message": "Datasource updated"}

    def _accounts(self, rest: list[str], query: Mapping[str, str], body: Json) -> Answer:
        match [self.command, *rest]:
            case ["GET", "search"]:
                named = [each for each in self.held.accounts if query["query"] in each["name"]]
                return 200, {"totalCount": len(named), "serviceAccounts": named}
            case ["POST"]:
                self.held.accounts.append({"id": len(self.held.accounts) + 1, "tokens": 0, **body})
                return 201, self.held.accounts[-1]
            case _:
                self.held.accounts[int(rest[0]) - 1]["tokens"] += 1
                return 200, {"id": 1, "name": body["name"], "key": "glsa_made"}


def _found(held: Mapping[str, Json], uid: str) -> Answer:
    return (200, held[uid]) if uid in held else (404, {"message": "not found"})
