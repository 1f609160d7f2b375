"""A deployment under traffic, and what has to hold when everybody has gone."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from cli.api_client import Api
from deadwatch.store import schema
from deadwatch.store.address import SQLITE
from deadwatch.store.engine import connect
from tests.chaos.account import Account
from tests.chaos.actors import sound
from tests.chaos.counted import causes, differences, totals
from tests.chaos.deployment import Deployment, deployed
from tests.chaos.exchanges import Exchange
from tests.chaos.moved import Moved
from tests.chaos.processes import Victims
from tests.chaos.traffic import Traffic
from tests.waiting import until

WITHIN_S = 240
OVER = {"COMPLETED", "CANCELLED"}
EVERYTHING = 1_000_000
Entry = dict[str, Any]
Deeds = Counter[tuple[str, str]]
"""How often something was done to something."""
NOTES = (".write-note", ".archive", ".unarchive")
POLICIES = ("redrive-policies.create", "redrive-policies.change", "redrive-policies.delete")


@contextmanager
def judged(traffic: Traffic, store_url: str, stores: Victims, account: Account) -> Iterator[Deployment]:
    """Whatever is done to it in the block, everything holds behind it."""
    engine = connect(store_url)
    try:
        with deployed(traffic, store_url, stores) as place:
            traffic.start()
            try:
                until(lambda: totals(engine), place.log, WITHIN_S)
                yield place
            finally:
                traffic.stop()
            check(place, engine, account)
        check_store(engine)
    finally:
        engine.dispose()


def check(place: Deployment, engine: sa.Engine, account: Account) -> None:
    """What can be told while the service runs."""
    account.written = sum(place.traffic.truth.values())
    assert place.book.surprises() == []
    with place.api() as api:
        check_records(place, api, account)
        check_counts(place, engine)
        check_promises(place, api, account)
    assert place.book.surprises() == []


def check_records(place: Deployment, api: Api, account: Account) -> None:
    """Every record of every order, on its target and in the counts."""
    made = over(api)
    moved = Moved.of(place.traffic.bootstrap_servers)
    lost, twice = moved.lost(made), moved.twice()
    account.lost, account.twice, account.done["records moved"] = len(lost), len(twice), len(moved.sent)
    account.done += Counter(f"orders {one['status']}" for one in made)
    assert (lost, twice, moved.strayed(made)) == ([], [], [])
    truth = moved.by_order()

    def counted() -> dict[str, int]:
        return {one["id"]: one["moved"] for one in orders(api) if one["moved"]}

    until(lambda: counted() == truth, lambda: f"{counted()} are not {truth}", WITHIN_S)


def check_counts(place: Deployment, engine: sa.Engine) -> None:
    """Every total is what was written."""
    truth = place.traffic.truth
    until(
        lambda: not differences(engine, truth),
        lambda: f"{differences(engine, truth)}\n{place.log()}",
        WITHIN_S,
    )
    letters = sum(count for name, count in truth.items() if name.startswith("dead_letters"))
    assert causes(engine) == (len(place.traffic.causes), letters)


def check_promises(place: Deployment, api: Api, account: Account) -> None:
    """What was answered is there, once; what was refused is not."""
    done = entries(api)
    account.done += Counter(one["action"] for one in done)
    assert broken(place.book.exchanges, done) == []
    assert differing(api, done) == []


def check_store(engine: sa.Engine) -> None:
    """Every row of every table can be read; SQLite finds nothing wrong with its file."""
    with engine.connect() as connection:
        for table in schema.metadata.sorted_tables:
            connection.execute(sa.select(table)).all()
    if engine.url.drivername == SQLITE:
        assert sound(Path(engine.url.database or "")) == "ok"


def over(api: Api) -> list[dict[str, Any]]:
    """The orders, all of them at their end; those that are paused go on first."""

    def go_on() -> list[dict[str, Any]]:
        found = [one for one in orders(api) if one["status"] not in OVER]
        for one in found:
            if one["status"] == "PAUSED":
                api.post(f"/redrives/{one['id']}/resume")
        return found

    until(lambda: not go_on(), lambda: f"these go on: {go_on()}", WITHIN_S)
    return orders(api)


def orders(api: Api) -> list[dict[str, Any]]:
    """Every order that is no dry run."""
    found = api.pages("/redrives", EVERYTHING)["items"]
    return [one for one in found if not one["dry_run"]]


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
