"""A deployment under traffic, and what has to hold when everybody has gone."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from deadwatch.api_client import Api
from streaming.store import schema
from streaming.store.engine import connect
from streaming.store.urls import SQLITE
from tests.chaos import kept
from tests.chaos.account import Account
from tests.chaos.actors import sound
from tests.chaos.counted import causes, differences, totals
from tests.chaos.deployment import Deployment, deployed
from tests.chaos.moved import Moved
from tests.chaos.processes import Victims
from tests.chaos.traffic import Traffic
from tests.waiting import until

WITHIN_S = 240
LOOKS_EVERY_S = 0.5
OVER = {"COMPLETED", "CANCELLED"}


@contextmanager
def judged(traffic: Traffic, store_url: str, stores: Victims, account: Account) -> Iterator[Deployment]:
    """Whatever is done to it in the block, everything holds behind it."""
    engine = connect(store_url)
    try:
        with deployed(traffic, store_url, stores) as place:
            traffic.start()
            try:
                until(lambda: totals(engine), place.log, WITHIN_S, LOOKS_EVERY_S)
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

    until(lambda: counted() == truth, lambda: f"{counted()} are not {truth}", WITHIN_S, LOOKS_EVERY_S)


def check_counts(place: Deployment, engine: sa.Engine) -> None:
    """Every total is what was written."""
    truth = place.traffic.truth
    until(
        lambda: not differences(engine, truth),
        lambda: f"{differences(engine, truth)}\n{place.log()}",
        WITHIN_S,
        LOOKS_EVERY_S,
    )
    letters = sum(count for name, count in truth.items() if name.startswith("dead_letters"))
    assert causes(engine) == (len(place.traffic.causes), letters)


def check_promises(place: Deployment, api: Api, account: Account) -> None:
    """What was answered is there, once; what was refused is not."""
    done = kept.entries(api)
    account.done += Counter(one["action"] for one in done)
    assert kept.broken(place.book.exchanges, done) == []
    assert kept.differing(api, done) == []


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

    until(lambda: not go_on(), lambda: f"these go on: {go_on()}", WITHIN_S, LOOKS_EVERY_S)
    return orders(api)


def orders(api: Api) -> list[dict[str, Any]]:
    """Every order that is no dry run."""
    found = api.pages("/redrives", kept.EVERYTHING)["items"]
    return [one for one in found if not one["dry_run"]]
