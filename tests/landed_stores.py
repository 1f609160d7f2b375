"""Stores of every version that has landed, with rows in every table: ``tests/data/stores``.

``python -m tests.landed_stores`` writes those of today's version, as ``make migration`` does after each step.
A file of an older version is never written anew: it is what users have.
"""

import os
import sqlite3
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import psycopg
from sqlalchemy import BigInteger, Boolean, Column, Connection, LargeBinary, Table, Text, func, select, update

from deadwatch.store import schema, upgrades, versions
from deadwatch.store.engine import connect, parse_url
from tests import console_store, postgres

DIRECTORY: Final = Path(__file__).with_name("data") / "stores"
NOW_MS: Final = 1_800_000_000_000
"""2027-01-15T08:00:00Z."""


def path(version: str, database: str) -> Path:
    """The file of a version, for ``sqlite`` or ``postgresql``."""
    return DIRECTORY / f"{version}.{database}.sql"


def load(url: str, version: str) -> None:
    """Make the empty database at ``url`` the store of that version."""
    address = parse_url(url)
    if address.get_backend_name() == "sqlite":
        file = Path(address.database or "")
        file.parent.mkdir(parents=True, exist_ok=True)
        with sqlite3.connect(file) as connection:
            connection.executescript(path(version, "sqlite").read_text())
        connection.close()
        return
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(path(version, "postgresql").read_bytes())


def write() -> None:
    """Write the files of today's version: the console's day of trouble, and a row in every other table."""
    version = versions.known()[0]
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "store.db"
        _fill(f"sqlite:///{file}")
        with sqlite3.connect(file) as connection:
            _keep(path(version, "sqlite"), "\n".join(connection.iterdump()))
        connection.close()
    with postgres.running() as server:
        url = server.database()
        _fill(url)
        _keep(path(version, "postgresql"), _dump(url))


def _fill(url: str) -> None:
    engine = connect(url)
    upgrades.upgrade(engine)
    console_store.fill(engine, NOW_MS)
    with engine.begin() as connection:
        too_long = schema.samples.c.fingerprint == console_store.HOSTILE_GROUP
        connection.execute(update(schema.samples).where(too_long).values(headers="[]"))
        for table in schema.metadata.sorted_tables:
            if not connection.scalar(select(func.count()).select_from(table)):
                console_store.add(connection, table, **_row(connection, table))
    engine.dispose()


def _row(connection: Connection, table: Table) -> dict[str, object]:
    """A value for every column that is its own and not what a column is empty with."""
    return {column.name: _value(connection, column) for column in table.columns}


def _value(connection: Connection, column: Column[object]) -> object:
    for key in column.foreign_keys:
        return connection.scalar(select(key.column).order_by(key.column))
    if isinstance(column.type, Boolean):
        return True
    if isinstance(column.type, LargeBinary):
        return b"\x00\xff" + column.name.encode()
    if isinstance(column.type, Text):
        return column.name
    return NOW_MS if isinstance(column.type, BigInteger) else 1


def _dump(url: str) -> str:
    """Without what belongs to one version of the server or of ``pg_dump``."""
    address = parse_url(url)
    program = [str(postgres.binaries() / "pg_dump"), "--inserts", "--no-owner", "--no-privileges"]
    place = ["-h", str(address.host), "-p", str(address.port), "-U", str(address.username)]
    dumped = subprocess.run(
        [*program, *place, str(address.database)],
        env=os.environ | {"PGPASSWORD": str(address.password)},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout
    left_out = ("SET ", "--", "\\", "SELECT pg_catalog.set_config")
    return "\n".join(line for line in dumped.splitlines() if line and not line.startswith(left_out))


def _keep(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n")


if __name__ == "__main__":
    write()
