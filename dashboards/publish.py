"""Publishes folder, dashboards and data source to a Grafana; what is the same there is left alone.

What Grafana adds to what it was given (ids, versions, defaults) is no difference: ours must be contained in
theirs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from dashboards.boards import ALL
from dashboards.frame import TAG, Board, model
from dashboards.grafana import Answer, ConflictError, Grafana, GrafanaError
from deadwatch.runtime.version import VERSION

FOLDER_UID: Final = "deadwatch"
DATASOURCE_UID: Final = "deadwatch-prometheus"
DATASOURCE_NAME: Final = "Deadwatch Prometheus"
MESSAGE: Final = f"python -m dashboards publish ({VERSION})"
ADDRESS: Final = "deadwatch_url"
"""The variable that says where the links of panels go."""
GRAFANAS_OWN: Final = frozenset({"id", "version", "schemaVersion"})
SHOWN: Final = 10
"""How many differences of a dashboard are shown."""
SHOWN_CHARS: Final = 60
"""How much of each value is shown."""


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to a thing in Grafana, or would be; ``details`` are lines of a difference."""

    what: str
    done: str
    details: Sequence[str] = ()

    def __str__(self) -> str:
        more = len(self.details) - SHOWN
        rest = (f"  … {more} more",) if more > 0 else ()
        return "\n".join((f"{self.what}: {self.done}", *(f"  {d}" for d in self.details[:SHOWN]), *rest))


UNCHANGED: Final = "unchanged"


def publish(
    grafana: Grafana,
    *,
    folder: str = "Deadwatch",
    datasource_url: str = "",
    scrape_interval: str = "",
    service_account: str = "",
    deadwatch_url: str = "",
    overwrite: bool = False,
) -> Iterator[Change]:
    """Publish, and yield each change after it was made; what has an empty text is left out, or as it was.

    Raises:
        GrafanaError: Grafana cannot be reached or refuses; what came before stays done.
    """
    yield _folder(grafana, folder)
    if datasource_url:
        yield _datasource(grafana, datasource_url, scrape_interval)
    for board in ALL:
        yield _dashboard(grafana, board, deadwatch_url.rstrip("/"), overwrite=overwrite)
    if service_account:
        yield _service_account(grafana, service_account)


def _folder(grafana: Grafana, title: str) -> Change:
    what, folders = f"folder {title}", grafana.face.folder
    found = grafana.find("read folders", folders.get_folder, FOLDER_UID)
    if not found:
        grafana.change("create folders", folders.create_folder, title, FOLDER_UID)
        return Change(what, "created")
    if found["title"] == title:
        return Change(what, UNCHANGED)
    grafana.change("change folders", folders.update_folder, FOLDER_UID, title, found["version"])
    return Change(what, "renamed", [f"title: {found['title']!r} → {title!r}"])


def _datasource(grafana: Grafana, url: str, scrape_interval: str) -> Change:
    """Grafana's ``$__rate_interval`` is four times ``timeInterval``, which is 15s where nobody has set it."""
    what, face = f"data source {DATASOURCE_NAME}", grafana.face
    address = f"/datasources/uid/{DATASOURCE_UID}"
    found = grafana.find("read data sources", face.api.GET, address)
    ours: dict[str, Any] = {
        "uid": DATASOURCE_UID,
        "name": DATASOURCE_NAME,
        "type": "prometheus",
        "access": "proxy",
        "url": url,
        "jsonData": {"httpMethod": "POST"} | ({"timeInterval": scrape_interval} if scrape_interval else {}),
    }
    if not found:
        grafana.change("create data sources", face.datasource.create_datasource, ours)
        return Change(what, "created")
    if details := list(differences(found, ours)):
        options = {**(found.get("jsonData") or {}), **ours["jsonData"]}  # with their TLS and headers
        changed = {**found, **ours, "jsonData": options, "version": found.get("version")}
        grafana.change("change data sources", face.api.PUT, address, json=changed)
    return Change(what, "changed" if details else UNCHANGED, details)


def _dashboard(grafana: Grafana, board: Board, url: str, *, overwrite: bool) -> Change:
    what, found = f"dashboard {board.uid}", _there(grafana, board.uid)
    ours = _made(board, url or _links_go_to(found))
    if not found:
        _save(grafana, {**ours, "id": None}, overwrite=overwrite)
        return Change(what, "created")
    theirs, folder = found["dashboard"], found["meta"].get("folderUid", "")
    details = list(differences(theirs, ours))
    if folder != FOLDER_UID:
        details.append(f"folder: {folder!r} → {FOLDER_UID!r}")
    if details:
        _save(grafana, {**ours, "id": theirs["id"], "version": theirs["version"]}, overwrite=overwrite)
    return Change(what, "changed" if details else UNCHANGED, details)


def _there(grafana: Grafana, uid: str) -> Answer:
    """``{"dashboard": …, "meta": …}`` as Grafana has it, or nothing."""
    return grafana.find("read dashboards", grafana.face.dashboard.get_dashboard, uid)


def _save(grafana: Grafana, ours: Answer, *, overwrite: bool) -> None:
    payload = {"dashboard": ours, "folderUid": FOLDER_UID, "message": MESSAGE, "overwrite": overwrite}
    try:
        grafana.change("write dashboards", grafana.face.dashboard.update_dashboard, payload)
    except ConflictError as error:
        now = _there(grafana, ours["uid"])
        if now and not list(differences(now["dashboard"], ours)):
            return  # a try before this one had arrived, only its answer was lost
        raise GrafanaError(_conflict(grafana, ours, error, exists=bool(now))) from error


def _conflict(grafana: Grafana, ours: Answer, error: GrafanaError, *, exists: bool) -> str:
    """The text that says what prevents saving the dashboard, and what to do."""
    search = grafana.face.search.search_dashboards
    found = grafana.ask("search", search, query=quote(ours["title"]), type_="dash-db")
    same = (each["uid"] for each in found if each["title"] == ours["title"])
    others = [uid for uid in same if uid != ours["uid"]]
    if others and not exists:
        return (
            f"dashboard {ours['uid']}: its title is that of {', '.join(others)} (412: {error}); delete or "
            "rename that one, or publish with --overwrite"
        )
    return (
        f"dashboard {ours['uid']}: somebody changed it meanwhile (412: {error}); run it again to see the "
        "difference, or publish with --overwrite"
    )


def _service_account(grafana: Grafana, name: str) -> Change:
    what, api = f"service account {name}", grafana.face.api
    address = f"/serviceaccounts/search?query={quote(name)}"
    accounts = grafana.ask("read service accounts", api.GET, address)["serviceAccounts"]
    account = next((each for each in accounts if each["name"] == name), None)
    if account and account["tokens"]:
        return Change(what, UNCHANGED, ("it has a token; Grafana shows a token once",))
    if grafana.dry_run:
        return Change(what, "created")
    body = {"name": name, "role": "Viewer"}
    account = account or grafana.change("create service accounts", api.POST, "/serviceaccounts", json=body)
    address = f"/serviceaccounts/{account['id']}/tokens"
    token = grafana.change("create tokens", api.POST, address, json={"name": f"{name}-{TAG}"})
    return Change(what, "created", (f"token: {token['key']}",))


def _made(board: Board, url: str) -> dict[str, Any]:
    """The dashboard with links to this installation's api."""
    ours = model(board)
    if url:
        (address,) = (v for v in ours["templating"]["list"] if v["name"] == ADDRESS)
        address |= {"query": url, "current": {"selected": True, "text": url, "value": url}}
    return ours


def _links_go_to(found: Answer) -> str:
    """The address that the dashboard in Grafana has for its links; "" where it has none."""
    variables = found["dashboard"].get("templating", {}).get("list", []) if found else []
    return next((v.get("query") or "" for v in variables if v["name"] == ADDRESS), "")


def differences(theirs: Any, ours: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401 -- JSON
    """A line for each value of ours that theirs does not have; what only theirs has is no difference."""
    match theirs, ours:
        case dict(), dict():
            for name in ours:
                if path or name not in GRAFANAS_OWN:
                    yield from differences(theirs.get(name), ours[name], f"{path}.{name}" if path else name)
        case list(), list() if len(theirs) == len(ours):
            for place, (old, new) in enumerate(zip(theirs, ours, strict=True)):
                yield from differences(old, new, f"{path}[{place}]")
        case list(), list():
            yield f"{path}: {len(theirs)} → {len(ours)} entries"
        case _ if theirs != ours:
            yield f"{path}: {_short(theirs)} → {_short(ours)}"


def _short(value: Any) -> str:  # noqa: ANN401 -- JSON
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"
