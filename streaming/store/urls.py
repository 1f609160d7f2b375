"""Where the store is: a file of SQLite, or a database of PostgreSQL. A password is never shown.

    sqlite:///deadwatch-data/deadwatch.db
    postgresql://user:password@host:5432/deadwatch

Without a password in it libpq's own ways serve: ``PGPASSWORD``, ``PGPASSFILE``, ``~/.pgpass``.
"""

from typing import Final

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

SQLITE: Final = "sqlite"
POSTGRESQL: Final = "postgresql+psycopg"
NAMES: Final = {
    "sqlite": SQLITE,
    "postgres": POSTGRESQL,
    "postgresql": POSTGRESQL,
    "postgresql+psycopg": POSTGRESQL,
}
WANTED: Final = "must be sqlite:///FILE or postgresql://USER@HOST:PORT/DATABASE"


def parsed(text: str) -> URL:
    """The address with the driver we use.

    Raises:
        ValueError: it names no store that can be used; the text shows nothing of it.
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise ValueError(WANTED) from None
    driver = NAMES.get(url.drivername)
    if driver is None or url.database in {None, "", ":memory:"}:
        raise ValueError(WANTED)
    return url.set(drivername=driver)


def checked(text: str) -> str:
    """The text as it was given, when it names a store that can be used."""
    parsed(text)
    return text


def shown(url: URL) -> str:
    """The address for people: without user, password and options, which may hold another."""
    return URL.create(
        url.drivername.split("+")[0], host=url.host, port=url.port, database=url.database
    ).render_as_string()
