"""How a store comes to the version that this program knows, and what is refused."""

from collections.abc import Mapping

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, MetaData, inspect, select, text

from deadwatch.store import schema, upgrades, versions
from deadwatch.store.errors import StoreError
from deadwatch.store.maintenance import Work, commands
from deadwatch.store.store import Store
from deadwatch.store.versions import Kind
from deadwatch.store.write import orders, policies
from tests import console_store, landed_stores
from tests.unit.deadwatch.store import suite

Rows = Mapping[str, list[Mapping[str, object]]]

MAKES_TABLES = True
LANDED = tuple(reversed(versions.known()))

engine = suite.connections


def run(engine: Engine, *statements: str) -> None:
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def found(engine: Engine) -> Kind:
    with engine.begin() as connection:
        return versions.state(connection).kind


def rows(engine: Engine) -> Rows:
    """Everything that a store holds, whatever its tables are."""
    tables = MetaData()
    with engine.begin() as connection:
        tables.reflect(connection)
        return {
            table.name: [
                dict(row) for row in connection.execute(select(table).order_by(*table.primary_key)).mappings()
            ]
            for table in tables.sorted_tables
            if table.name != versions.TABLE
        }


@pytest.mark.parametrize("migrated", [True, False], ids=["by its migrations", "when it is opened"])
def test_a_new_store_has_the_tables_of_today(url: str, engine: Engine, migrated: bool) -> None:
    if migrated:
        with engine.begin() as connection:
            command.upgrade(upgrades.configuration(connection), "head")
    with Store(url), engine.begin() as connection:
        assert upgrades.differences(connection) == []
    assert found(engine) is Kind.CURRENT


def test_the_versions_are_one_chain_of_numbers() -> None:
    script = ScriptDirectory.from_config(upgrades.configuration())
    assert script.get_heads() == [versions.known()[0]]
    assert [one.revision for one in script.walk_revisions()] == list(versions.known())
    assert sorted(versions.known()) == [f"{number:04}" for number in range(1, len(versions.known()) + 1)]


def test_the_landed_store_of_today_has_rows_in_every_table(url: str, engine: Engine) -> None:
    """So the next step is tried on all of them: ``python -m tests.landed_stores`` writes it."""
    landed_stores.load(url, versions.known()[0])
    assert found(engine) is Kind.CURRENT
    kept = rows(engine)
    assert set(kept) == set(schema.metadata.tables)
    assert [name for name, present in kept.items() if not present] == []


@pytest.mark.parametrize("version", LANDED)
def test_a_store_of_a_landed_version_is_upgraded_with_all_it_holds(
    url: str, engine: Engine, version: str
) -> None:
    landed_stores.load(url, version)
    before = rows(engine)
    commands.run(Work.UPGRADE, url)
    with engine.begin() as connection:
        assert upgrades.differences(connection) == []
    after = rows(engine)
    for table in before.keys() & after.keys():
        names = schema.metadata.tables[table].columns.keys()
        kept = [{name: row[name] for name in names if name in row} for row in before[table]]
        assert [{name: row[name] for name in kept[0]} for row in after[table]] == kept
    with Store(url) as store:
        assert store.offsets()
    with engine.begin() as connection:
        assert orders.find(connection, console_store.RUNNING).order.request.reason == "converter fixed in 4.1"
        assert policies.find(connection, console_store.POLICY).version == 3


def test_a_file_is_upgraded_when_it_is_opened_and_a_server_waits_for_its_operator(
    url: str, engine: Engine
) -> None:
    landed_stores.load(url, LANDED[0])
    assert found(engine) is Kind.OLDER
    assert commands.run(Work.CHECK, url).endswith("version 0001, older than this program: run `upgrade`")
    if engine.dialect.name == "sqlite":
        with Store(url) as store:
            assert store.offsets()
        assert found(engine) is Kind.CURRENT
    else:
        with pytest.raises(StoreError, match="run `deadwatch store upgrade`"), Store(url):
            pass
        assert found(engine) is Kind.OLDER


def test_a_newer_store_is_refused(url: str, engine: Engine) -> None:
    with Store(url):
        run(engine, "UPDATE deadwatch_version SET version_num = '9999'")
    for open_it in (lambda: Store(url).open(), lambda: commands.run(Work.UPGRADE, url)):
        with pytest.raises(StoreError, match=r"version 9999, this program knows .* install a newer one"):
            open_it()
    assert "version 9999, newer than this program" in commands.run(Work.STATUS, url)


def test_a_database_of_somebody_else_is_refused_and_left_alone(url: str, engine: Engine) -> None:
    run(engine, "CREATE TABLE customers (id INTEGER)")
    for open_it in (lambda: Store(url).open(), lambda: commands.run(Work.UPGRADE, url)):
        with pytest.raises(StoreError, match="tables that are not ours"):
            open_it()
    with engine.begin() as connection:
        assert inspect(connection).get_table_names() == ["customers"]


def test_an_upgrade_says_what_it_did_and_shows_no_secret(url: str) -> None:
    assert "version none, empty" in commands.run(Work.STATUS, url)
    printed = [commands.run(work, url) for work in (Work.UPGRADE, Work.UPGRADE, Work.STATUS)]
    phrases = ("is up to date now", "was up to date", "up to date")
    assert all(phrase in line for phrase, line in zip(phrases, printed, strict=True))
    assert not any("@" in line for line in printed)


def test_a_store_is_read_to_its_end_and_reported_as_whole(url: str) -> None:
    with Store(url) as store:
        store.note_source("s", "log", up=True, message="", now_ms=1)
    printed = commands.run(Work.CHECK, url)
    assert printed.startswith("whole: ")
    assert printed.endswith(f"version {versions.known()[0]}, up to date")
    assert "@" not in printed
