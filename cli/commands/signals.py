"""``deadwatch overview``, ``tasks`` and ``findings``: what is wrong now, in a terminal."""

from functools import partial
from typing import Final

from cli.api_client import Api
from cli.commands import tables
from cli.commands.api import Limit, Output
from cli.commands.output import Answer, Format, shown

OVERVIEW_HEADINGS: Final = ("what", "now", "since or last")
TASK_LISTS: Final = ("task_timeouts", "timers", "connect")
TASK_HEADINGS: Final = ("task", "state", "since", "worker", "why")
FINDING_COLUMNS: Final = "subject kind message change first_seen"
FINDINGS_OPTIONAL: Final = ("first_seen", "kind")


def overview(api: Api, *, output: Output = Format.TABLE) -> int:
    """Show what is dead, late or abandoned now.

    deadwatch overview

    deadwatch overview --json | jq .dead_letters.waiting
    """
    return shown(api.get("/overview"), output, _overview)


def tasks(api: Api, *, limit: Limit = 500, output: Output = Format.TABLE) -> int:
    """Show the connectors and tasks of Connect, dead ones first, and tasks of Streams that timed out.

    deadwatch tasks --limit 1000 (of each of these)
    """
    return shown(api.pages("/tasks", limit, TASK_LISTS), output, _tasks)


def findings(api: Api, *, limit: Limit = 50, output: Output = Format.TABLE) -> int:
    """List configurations that would lose or strand records, with what to change.

    deadwatch findings --output yaml
    """
    columns = tables.named(FINDING_COLUMNS)
    table = partial(tables.of_items, "Findings", columns, optional=FINDINGS_OPTIONAL)
    return shown(api.pages("/findings", limit), output, table)


def _overview(now: Answer) -> tables.FittedTable:
    dead, late, failed = now["dead_letters"], now["delivery_timeouts"], now["failed"]
    rows: list[tuple[str, object, object]] = [
        ("dead letters waiting", dead["waiting"], dead["last_seen"]),
        ("dead letters in all", dead["total"], dead["last_seen"]),
        ("causes", dead["groups"], None),
        ("share-group dead letters lost", *_count(dead["lost"])),
        *(
            (f"FAILED {one}", failed[one], failed["latest_since"] if failed[one] else None)
            for one in ("tasks", "connectors")
        ),
        ("stalled tasks", now["stalled_tasks"]["current"], now["stalled_tasks"]["longest_since"]),
        ("abandoned tasks", *_count(now["abandoned_tasks"], "current")),
        ("abandoned connectors", *_count(now["abandoned_connectors"], "current")),
        ("task timeouts", *_count(now["task_timeouts"])),
        ("records not delivered in time", late["records"], late["last_seen"]),
        ("client timeouts", *_count(now["client_timeouts"])),
        ("findings", now["findings"]["current"], now["findings"]["newest_since"]),
        ("quarantined events", *_count(now["quarantined"])),
        ("redrives running", now["redrives"]["running"], None),
        ("redrives paused", now["redrives"]["paused"], None),
    ]
    if now["redrives"]["warning"]:
        rows.append(("redrives", now["redrives"]["warning"], None))
    rows += [(f"down: {one['name']}", one["message"], one["down_since"]) for one in now["sources"]["down"]]
    title = f"{now['kafka_cluster']} at {tables.brief_time(now['at'])}"
    return tables.FittedTable(title, OVERVIEW_HEADINGS, rows, optional=OVERVIEW_HEADINGS[-1:])


def _count(found: Answer, figure: str = "total") -> tuple[object, object]:
    return found[figure], found["last_seen"]


def _tasks(found: Answer) -> tables.FittedTable:
    rows: list[tuple[object, ...]] = [
        (_named(one, "connector"), one["state"] or "unknown", one["state_since"], one["worker"], one["trace"])
        for one in found["connect"]
    ]
    rows += [
        (_named(one, "application"), "TIMER RUNS", one["since"], one["thread"], one["message"])
        for one in found["timers"]
    ]
    rows += [
        (_named(one, "application"), "TIMED OUT", one["last_seen"], "", one["message"])
        for one in found["task_timeouts"]
    ]
    title = tables.of_page("Tasks", found)
    return tables.FittedTable(title, TASK_HEADINGS, rows, optional=("worker", "since"))


def _named(one: Answer, owner: str) -> str:
    return one[owner] if one["task"] is None else f"{one[owner]}-{one['task']}"
