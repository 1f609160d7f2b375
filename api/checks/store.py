"""Whether the store can be used: a file or a PostgreSQL server, and its version."""

from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import create_engine
from sqlalchemy.exc import SQLAlchemyError

from api.checks.finding import Finding, fail, ok
from streaming.store import versions
from streaming.store.engine import POSTGRESQL
from streaming.store.trouble import line
from streaming.store.urls import SQLITE, parsed, shown
from streaming.store.versions import Kind


def store(store_url: str) -> Iterator[Finding]:
    """The store answers and has the version of this program, or is still to be made."""
    url = parsed(store_url)
    if url.drivername == SQLITE and not Path(url.database or "").exists():
        yield ok("store", "not there yet, streaming makes it")
        return
    arguments = {} if url.drivername == SQLITE else dict(POSTGRESQL)
    engine = create_engine(url, hide_parameters=True, connect_args=arguments)
    try:
        with engine.connect() as connection:
            found = versions.state(connection)
    except SQLAlchemyError as error:
        yield fail("store", f"{shown(url)}: {line(error)}", "check store_url and what it names")
        return
    finally:
        engine.dispose()
    yield _finding(found, shown(url), by_itself=url.drivername == SQLITE)


def _finding(found: versions.State, where: str, *, by_itself: bool) -> Finding:
    known = versions.known()[0]
    seen = f"{where}, version {found.version or 'none'}"
    match found.kind:
        case Kind.CURRENT:
            return ok("store", seen)
        case Kind.EMPTY:
            return ok("store", f"{where} is empty, streaming makes the tables")
        case Kind.OLDER if by_itself:
            return ok("store", f"{seen}, streaming brings it to {known}")
        case Kind.OLDER:
            return fail("store", f"{seen}, this program knows {known}", f"run `{versions.UPGRADE}`")
        case Kind.NEWER:
            return fail("store", f"{seen}, this program knows {known}", "install a newer version")
        case Kind.FOREIGN:
            return fail("store", f"{where} holds other tables", "give the store a database of its own")
