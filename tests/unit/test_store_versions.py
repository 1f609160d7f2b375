"""How a store comes to the version that this program knows, and what is refused."""

from collections.abc import Iterator

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, text

from streaming.store import migrate, schema, upgrade, versions
from streaming.store.engine import connect
from streaming.store.store import Store, StoreError
from streaming.store.upgrade import Work
from streaming.store.versions import Kind

UNRELEASED = (
    "leases",
    "bucketed_series",
    "buckets",
    "dead_letter_group_trends",
    "redrive_policies",
    "redrive_policy_changes",
    "read_topics",
    "stream_figures",
    "tokens",
    "audit",
)
"""Tables that a store from before the migrations did not have."""


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    made = connect(url)
    yield made
    made.dispose()


def run(engine: Engine, *statements: str) -> None:
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def make_first(engine: Engine) -> None:
    """A store as it was before there were migrations."""
    tables = [table for table in schema.metadata.sorted_tables if table.name not in UNRELEASED]
    with engine.begin() as connection:
        schema.metadata.create_all(connection, tables)
    run(
        engine,
        "CREATE TABLE schema_version (version INTEGER PRIMARY KEY)",
        "INSERT INTO schema_version VALUES (1)",
        "INSERT INTO offsets VALUES ('t', 0, 42)",
    )


def found(engine: Engine) -> Kind:
    with engine.begin() as connection:
        return versions.state(connection).kind


def test_the_migrations_make_the_tables_of_today(engine: Engine) -> None:
    with engine.begin() as connection:
        command.upgrade(versions.configuration(connection), "head")
    with engine.begin() as connection:
        assert migrate.differences(connection) == []
    assert found(engine) is Kind.CURRENT


def test_a_new_store_is_what_the_migrations_make(url: str, engine: Engine) -> None:
    with Store(url), engine.begin() as connection:
        assert migrate.differences(connection) == []
    assert found(engine) is Kind.CURRENT


def test_the_versions_are_one_chain_of_numbers() -> None:
    script = ScriptDirectory.from_config(versions.configuration())
    assert script.get_heads() == [versions.known()[0]]
    assert sorted(versions.known()) == [f"{number:04}" for number in range(1, len(versions.known()) + 1)]


def test_a_store_from_before_the_migrations_is_adopted_with_all_it_holds(url: str, engine: Engine) -> None:
    make_first(engine)
    assert found(engine) is Kind.OLDER
    upgrade.run(Work.UPGRADE, url)
    with Store(url) as store:
        assert store.offsets() == {("t", 0): 42}
    with engine.begin() as connection:
        assert migrate.differences(connection) == []
        assert not inspect(connection).has_table("schema_version")


def test_a_file_is_upgraded_when_it_is_opened_and_a_server_waits_for_its_operator(
    url: str, engine: Engine
) -> None:
    make_first(engine)
    if engine.dialect.name == "sqlite":
        with Store(url) as store:
            assert store.offsets() == {("t", 0): 42}
    else:
        with pytest.raises(StoreError, match="run `deadwatch store upgrade`"), Store(url):
            pass
        assert found(engine) is Kind.OLDER


def test_a_store_that_was_made_by_nothing_released_is_left_as_it_was(url: str, engine: Engine) -> None:
    make_first(engine)
    run(engine, "ALTER TABLE offsets ADD COLUMN surprise INTEGER")
    with pytest.raises(StoreError, match=r"never released .* move it away"):
        upgrade.run(Work.UPGRADE, url)
    assert found(engine) is Kind.OLDER
    with engine.begin() as connection:
        assert connection.scalar(text("SELECT next_offset FROM offsets")) == 42
        assert not inspect(connection).has_table("leases")


@pytest.mark.parametrize("work", [Work.STATUS, Work.UPGRADE])
def test_a_newer_store_is_refused(url: str, engine: Engine, work: Work) -> None:
    with Store(url):
        run(engine, "UPDATE deadwatch_version SET version_num = '9999'")
    with (
        pytest.raises(StoreError, match=r"version 9999, this program knows .* install a newer one"),
        Store(url),
    ):
        pass
    if work is Work.STATUS:
        assert "version 9999, newer than this program" in upgrade.run(work, url)
    else:
        with pytest.raises(StoreError, match="install a newer one"):
            upgrade.run(work, url)


def test_a_database_of_somebody_else_is_refused_and_left_alone(url: str, engine: Engine) -> None:
    run(engine, "CREATE TABLE customers (id INTEGER)")
    for open_it in (lambda: Store(url).open(), lambda: upgrade.run(Work.UPGRADE, url)):
        with pytest.raises(StoreError, match="tables that are not ours"):
            open_it()
    with engine.begin() as connection:
        assert inspect(connection).get_table_names() == ["customers"]


def test_an_upgrade_says_what_it_did_and_shows_no_secret(url: str) -> None:
    assert "version none, empty" in upgrade.run(Work.STATUS, url)
    said = [upgrade.run(work, url) for work in (Work.UPGRADE, Work.UPGRADE, Work.STATUS)]
    phrases = ("is up to date now", "was up to date", "up to date")
    assert all(phrase in line for phrase, line in zip(phrases, said, strict=True))
    assert not any("@" in line for line in said)


def test_a_store_is_read_to_its_end_and_said_to_be_whole(url: str) -> None:
    with Store(url) as store:
        store.note_source("s", "log", up=True, message="", now_ms=1)
    said = upgrade.run(Work.CHECK, url)
    assert said.startswith("whole: ")
    assert said.endswith(f"version {versions.known()[0]}, up to date")
    assert "@" not in said
