"""What the service has promised to those who asked: every deed is kept, with its entry in the audit, once."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from deadwatch.api_client import Api
from tests.chaos.exchanges import Exchange

EVERYTHING = 1_000_000
Entry = dict[str, Any]
Deeds = Counter[tuple[str, str]]
"""How often something was done to something."""
NOTES = (".write-note", ".archive", ".unarchive")
POLICIES = ("redrive-policies.create", "redrive-policies.change", "redrive-policies.delete")


def entries(api: Api) -> list[Entry]:
    """The audit of what was done."""
    found = map(json.loads, api.lines("/audit/export"))
    return [one for one in found if one["outcome"] == "done"]


def broken(exchanges: Iterable[Exchange], done: Iterable[Entry]) -> list[str]:
    """Requests that were promised and are not in the audit, or are although they were refused."""
    times = Counter(one["request_id"] for one in done)
    found = []
    for one in exchanges:
        fits = times[one.id] == int(one.done) or (one.unsure and times[one.id] == 1)
        if one.changes and not fits:
            found.append(f"{one.method} {one.path} {one.status} is {times[one.id]} times in the audit")
    return found


def differing(api: Api, done: Iterable[Entry]) -> list[str]:
    """Where the audit and what is kept do not tell the same; the audit tells all that was done."""
    deeds = Counter((entry["action"], entry["subject"]) for entry in done if entry["subject"])
    tokens = api.pages("/tokens", EVERYTHING)["items"]
    orders = api.pages("/redrives", EVERYTHING)["items"]
    dry = {one["id"] for one in orders if one["dry_run"]}
    of_policies = {one["id"] for one in orders if one["policy"]}
    cancelled = {one["id"] for one in orders if one["status"] == "CANCELLED"}
    completed = {one["id"] for one in orders if one["status"] == "COMPLETED"}
    sides: dict[str, tuple[set[Any], set[Any]]] = {
        "tokens": (subjects(deeds, "tokens.create"), {one["id"] for one in tokens}),
        "revoked tokens": (
            subjects(deeds, "tokens.revoke"),
            {one["id"] for one in tokens if one["revoked_at"]},
        ),
        "orders": (
            subjects(deeds, "redrives.create") - dry,
            {one["id"] for one in orders} - dry - of_policies,
        ),
        "cancelled orders": (subjects(deeds, "redrives.cancel") - completed, cancelled),
        "notes": versions(deeds, NOTES, lambda one: api.get(f"/dead-letters/groups/{one}/note")["version"]),
        "policies": versions(
            deeds,
            POLICIES,
            lambda one: len(api.pages(f"/redrive-policies/{one}/changes", EVERYTHING)["items"]),
        ),
    }
    return [
        f"{what}: only in the audit {sorted(told - found)}, only kept {sorted(found - told)}"
        for what, (told, found) in sides.items()
        if told != found
    ]


def subjects(deeds: Deeds, action: str) -> set[str]:
    """What this was done to."""
    return {subject for name, subject in deeds if name == action}


def versions(
    deeds: Deeds, actions: tuple[str, ...], kept: Callable[[str], int]
) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
    """How often each subject was changed, by the audit and by itself."""
    times: Counter[str] = Counter()
    for (action, subject), count in deeds.items():
        if action.endswith(actions):
            times[subject] += count
    return set(times.items()), {(subject, kept(subject)) for subject in times}
