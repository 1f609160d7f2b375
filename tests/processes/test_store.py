"""A store that several processes change, and one that a process of another tree brings to its version."""

import multiprocessing
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine

from deadwatch.orders.order import ClaimLostError, Status
from deadwatch.store import upgrades, versions
from deadwatch.store.write.orders import count_by_status
from tests import landed_stores
from tests.command_line import succeeded
from tests.paths import ROOT
from tests.unit.deadwatch.store.test_orders import Place, place
from tests.unit.deadwatch.store.test_versions import engine, rows

__all__ = ["engine", "place"]

NEW_COLUMNS = """
from sqlalchemy import BigInteger, Boolean, Column, LargeBinary, SmallInteger, Text, text
for table in (groups, tokens, audit):
    for column in (
        Column("a_text", Text, nullable=False),
        Column("a_number", BigInteger, nullable=False),
        Column("a_small_number", SmallInteger, nullable=False),
        Column("an_answer", Boolean, nullable=False),
        Column("some_bytes", LargeBinary, nullable=False),
        Column("perhaps", Text),
        Column("given", Boolean, nullable=False, server_default=text("true")),
    ):
        table.append_column(column)
"""
"""What a change of the schema may bring to tables that have rows."""
WRITE_AND_UPGRADE = """
import runpy, sys
from deadwatch.store import upgrades, versions
from deadwatch.store.engine import connect
from deadwatch.store.maintenance import Work, commands
sys.argv, url = ["migrations", "more_columns"], sys.argv[1]
runpy.run_module("deadwatch.store.migrations", run_name="__main__")
versions.known.cache_clear()
print(commands.run(Work.UPGRADE, url))
with connect(url).begin() as connection:
    print("differences:", upgrades.differences(connection))
"""


@pytest.fixture
def url(tmp_path: Path) -> str:
    """``tests/contract`` has PostgreSQL here."""
    return f"sqlite:///{tmp_path / 'store.db'}"


def test_a_migration_that_is_written_can_be_made_on_a_store_with_rows(
    url: str, engine: Engine, tmp_path: Path
) -> None:
    """In a copy of the tree, whose tables get columns of every kind; by ``make migration``'s own command."""
    landed_stores.load(url, versions.known()[0])
    before = rows(engine)
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "deadwatch", tree / "deadwatch", ignore=shutil.ignore_patterns("__pycache__"))
    with (tree / "deadwatch/store/schema.py").open("a") as file:
        file.write(NEW_COLUMNS)
    told = succeeded(sys.executable, "-c", WRITE_AND_UPGRADE, url, cwd=tree)
    *_, path, upgraded, differences = told.splitlines()
    assert path.startswith(str(tree))
    assert "is up to date now" in upgraded
    assert differences == "differences: []"
    after = rows(engine)
    assert {name: len(after[name]) for name in after} == {name: len(before[name]) for name in before}
    new = after["audit"][0]
    assert (new["a_text"], new["a_number"], new["a_small_number"], new["an_answer"]) == ("", 0, 0, False)
    assert (new["some_bytes"] or b"", new["perhaps"], new["given"]) == (b"", None, True)


def test_processes_that_steal_from_each_other_settle_every_order_once(url: str, place: Place) -> None:
    upgrades.upgrade(place.engine)
    for number in range(1, 13):
        place.add(f"{number:x}", number)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        settled = pool.starmap(_steal_and_settle, [(url, "w1"), (url, "w2")])
    assert sorted(name for mine in settled for name in mine) == sorted(
        f"{number:x}" for number in range(1, 13)
    )
    with place.engine.begin() as connection:
        assert count_by_status(connection) == {Status.COMPLETED: 12}


def _steal_and_settle(url: str, worker: str) -> list[str]:
    """Claim with leases that have ended already, so that every worker is always late; what it settled."""
    mine: list[str] = []
    place = Place(url)
    now_ms = 0
    while (claim := place.claims.claim(worker, now_ms, 1)) is not None:
        now_ms += 2
        try:
            held, _ = place.claims.renew(claim, now_ms, 1)
            place.claims.settle(replace(held), Status.COMPLETED, worker, now_ms)
        except ClaimLostError:
            continue
        mine.append(claim.order.id)
    place.engine.dispose()
    return mine
