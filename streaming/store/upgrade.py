"""What an operator does with a store by hand: look at its version, bring it up to date."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from streaming.store import migrate, versions
from streaming.store.engine import connect
from streaming.store.errors import StoreError
from streaming.store.trouble import line
from streaming.store.urls import parsed, shown
from streaming.store.versions import Kind

SAID: Final[Mapping[Kind, str]] = {
    Kind.EMPTY: "empty: streaming or `upgrade` makes the tables",
    Kind.OLDER: "older than this program: run `upgrade`",
    Kind.CURRENT: "up to date",
    Kind.NEWER: "newer than this program: install a newer one",
    Kind.FOREIGN: "holds tables that are not ours: give the store a database of its own",
}


class Work(StrEnum):
    """What is to be done."""

    STATUS = "status"
    UPGRADE = "upgrade"


def run(work: Work, text: str) -> str:
    """Do it; the line to say.

    Raises:
        StoreError: it cannot be done; the text says why.
    """
    engine = connect(text)
    try:
        if work is Work.UPGRADE:
            before = migrate.upgrade(engine)
            done = "was up to date" if before.kind is Kind.CURRENT else "is up to date now"
            return f"{shown(parsed(text))} {done}: version {versions.known()[0]}"
        with engine.begin() as connection:
            found = versions.state(connection)
        return f"{shown(parsed(text))}: version {found.version or 'none'}, {SAID[found.kind]}"
    except SQLAlchemyError as error:
        raise StoreError(line(error)) from error
    finally:
        engine.dispose()
