"""Brings folder, dashboards and data source to a Grafana; what is there already is left alone.

What Grafana adds to what it was given (ids, versions, defaults) is no difference: ours must be contained in
theirs.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from collector.version import VERSION
from dashboards.boards import ALL
from dashboards.frame import TAG, model
from dashboards.grafana import ConflictError, Grafana, GrafanaError

FOLDER_UID: Final = "deadwatch"
DATASOURCE_UID: Final = "deadwatch-prometheus"
DATASOURCE_NAME: Final = "Deadwatch Prometheus"
MESSAGE: Final = f"python -m dashboards publish ({VERSION})"
GRAFANAS_OWN: Final = frozenset({"id", "version", "schemaVersion"})
SHOWN: Final = 10
SHOWN_CHARS: Final = 60
"""How many differences of a dashboard are shown."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be there; empty: not asked for."""

    folder: str = "Deadwatch"
    datasource_url: str = ""
    service_account: str = ""
    deadwatch_url: str = ""
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """What was done, or would be, to one thing; ``details`` are lines of a difference."""

    what: str
    done: str
    details: Sequence[str] = ()

    def __str__(self) -> str:
        more = len(self.details) - SHOWN
        rest = (f"  … {more} more",) if more > 0 else ()
        return "\n".join((f"{self.what}: {self.done}", *(f"  {d}" for d in self.details[:SHOWN]), *rest))


UNCHANGED: Final = "unchanged"


def publish(grafana: Grafana, wanted: Wanted, *, dry_run: bool) -> Iterator[Change]:
    """Do it, and tell each step after it was done; a dry run reads only.

    Raises:
        GrafanaError: Grafana cannot be reached or refuses; what came before stays done.
    """
    yield _folder(grafana, wanted.folder, dry_run=dry_run)
    if wanted.datasource_url:
        yield _datasource(grafana, wanted.datasource_url, dry_run=dry_run)
    for board in ALL:
        yield _dashboard(grafana, _made(model(board), wanted), wanted, dry_run=dry_run)
    if wanted.service_account:
        yield _service_account(grafana, wanted.service_account, dry_run=dry_run)


def _folder(grafana: Grafana, title: str, *, dry_run: bool) -> Change:
    what, found = f"folder {title}", grafana.folder(FOLDER_UID)
    if found is None:
        if not dry_run:
            grafana.create_folder(FOLDER_UID, title)
        return Change(what, "created")
    if found["title"] == title:
        return Change(what, UNCHANGED)
    if not dry_run:
        grafana.rename_folder(FOLDER_UID, title, found["version"])
    return Change(what, "renamed", (f"title: {found['title']!r} → {title!r}",))


def _datasource(grafana: Grafana, url: str, *, dry_run: bool) -> Change:
    what, found = f"data source {DATASOURCE_NAME}", grafana.datasource(DATASOURCE_UID)
    ours = {
        "uid": DATASOURCE_UID,
        "name": DATASOURCE_NAME,
        "type": "prometheus",
        "access": "proxy",
        "url": url,
        "jsonData": {"httpMethod": "POST"},
    }
    if found is None:
        if not dry_run:
            grafana.create_datasource(ours)
        return Change(what, "created")
    if not (details := list(differences(found, ours))):
        return Change(what, UNCHANGED)
    if not dry_run:
        grafana.update_datasource(DATASOURCE_UID, {**found, **ours, "version": found.get("version")})
    return Change(what, "changed", details)


def _dashboard(grafana: Grafana, ours: Mapping[str, Any], wanted: Wanted, *, dry_run: bool) -> Change:
    what, found = f"dashboard {ours['uid']}", grafana.dashboard(ours["uid"])
    if found is None:
        if not dry_run:
            _save(grafana, {**ours, "id": None}, wanted)
        return Change(what, "created")
    theirs = found["dashboard"]
    details = list(differences(theirs, ours))
    if found["meta"].get("folderUid", "") != FOLDER_UID:
        details.append(f"folder: {found['meta'].get('folderUid', '')!r} → {FOLDER_UID!r}")
    if not details:
        return Change(what, UNCHANGED)
    if not dry_run:
        _save(grafana, {**ours, "id": theirs["id"], "version": theirs["version"]}, wanted)
    return Change(what, "changed", details)


def _save(grafana: Grafana, ours: Mapping[str, Any], wanted: Wanted) -> None:
    payload = {
        "dashboard": ours,
        "folderUid": FOLDER_UID,
        "message": MESSAGE,
        "overwrite": wanted.overwrite,
    }
    try:
        grafana.save_dashboard(payload)
    except ConflictError as error:
        now = grafana.dashboard(ours["uid"])
        if now is not None and not list(differences(now["dashboard"], ours)):
            return  # a try before this one had arrived, only its answer was lost
        raise GrafanaError(_conflict(grafana, ours, error, exists=now is not None)) from error


def _conflict(grafana: Grafana, ours: Mapping[str, Any], error: GrafanaError, *, exists: bool) -> str:
    """What stands in the way, and what to do."""
    others = [each["uid"] for each in grafana.titled(ours["title"]) if each["uid"] != ours["uid"]]
    if others and not exists:
        return (
            f"dashboard {ours['uid']}: its title is that of {', '.join(others)} (412: {error}); delete or "
            "rename that one, or publish with --overwrite"
        )
    return (
        f"dashboard {ours['uid']}: somebody changed it meanwhile (412: {error}); run it again to see the "
        "difference, or publish with --overwrite"
    )


def _service_account(grafana: Grafana, name: str, *, dry_run: bool) -> Change:
    what, found = f"service account {name}", grafana.service_account(name)
    if found is not None and found["tokens"]:
        return Change(what, UNCHANGED, ("it has a token; Grafana shows a token once",))
    if dry_run:
        return Change(what, "created")
    account = found or grafana.create_service_account(name, "Viewer")
    return Change(what, "created", (f"token: {grafana.create_token(account['id'], f'{name}-{TAG}')}",))


def _made(made: Mapping[str, Any], wanted: Wanted) -> dict[str, Any]:
    """The dashboard with this installation's address."""
    ours = copy.deepcopy(dict(made))
    if wanted.deadwatch_url:
        (address,) = (v for v in ours["templating"]["list"] if v["name"] == "deadwatch_url")
        url = wanted.deadwatch_url.rstrip("/")
        address |= {"query": url, "current": {"selected": True, "text": url, "value": url}}
    return ours


def differences(theirs: Any, ours: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401 -- JSON
    """A line for each value of ours that theirs does not have."""
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
