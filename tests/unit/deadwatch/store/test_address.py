"""Whether an address names a store is told as SQLAlchemy reads it, without SQLAlchemy."""

from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from deadwatch.store.address import DRIVERS, checked_url
from deadwatch.store.engine import parse_url

BEGINNINGS = ("sqlite:///", "postgresql://", "postgres://", "postgresql+psycopg://", "mysql://", "")
PORTS = {None, *range(1, 65_536)}
PARTS = (
    *"/:@?[]# ",
    *("://", "user", "pa/ss", "host", "[::1]", "5432", "65536", "0", "+5"),
    *("db", "%00", "%3Amemory%3A", ":memory:"),
)


def read(text: str) -> str | None:
    """The database of a store, by SQLAlchemy alone."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        return None
    if url.drivername not in DRIVERS or "\0" in (url.database or "") or url.port not in PORTS:
        return None
    return url.database if url.database not in {"", ":memory:"} else None


def used(text: str) -> str | None:
    """The database of a store that settings take."""
    try:
        checked_url(text)
    except ValueError:
        return None
    return parse_url(text).database


@settings(max_examples=500)
@example("postgresql://", "user:secret@host:/db")
@example("postgresql://", "host:0/db")
@example("postgresql://", "host:65535/db")
@example("postgresql://", "host:65536/db")
@example("sqlite:///", "a%00b.db")
@given(st.sampled_from(BEGINNINGS), st.lists(st.sampled_from(PARTS), max_size=9).map("".join))
def test_an_address_names_a_store_where_sqlalchemy_finds_its_database(beginning: str, rest: str) -> None:
    assert used(beginning + rest) == read(beginning + rest)
