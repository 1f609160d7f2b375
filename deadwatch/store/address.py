"""Addresses of stores: which of them can be used. SQLAlchemy, which takes them apart, is not loaded for that.

    sqlite:///deadwatch-data/deadwatch.db
    postgresql://user:password@host:5432/deadwatch

Without a password in the address, libpq's own ways serve: ``PGPASSWORD``, ``PGPASSFILE``, ``~/.pgpass``.
"""

import re
from contextlib import suppress
from typing import Final
from urllib.parse import unquote

SQLITE: Final = "sqlite"
_SERVER: Final = "postgresql+psycopg"
DRIVERS: Final = {SQLITE: SQLITE, "postgres": _SERVER, "postgresql": _SERVER, _SERVER: _SERVER}
"""The driver that we use, by the beginning of an address."""
PORTS: Final = range(1, 65_536)
FORM: Final = "must be sqlite:///FILE or postgresql://USER@HOST:PORT/DATABASE"

_PARTS: Final = re.compile(
    r"(?P<driver>[\w+]+)://"
    r"(?:[^:/]*(?::[^@]*)?@)?"  # user and password
    r"(?:\[[^/?]+\]|[^/:?]+)?(?::(?P<port>[^/?]*))?"
    r"(?:/(?P<database>[^?]*))?"
)
"""As ``sqlalchemy.make_url`` reads them."""


def checked_url(text: str) -> str:
    """The text, if it names a store that can be used; a validator of settings.

    Raises ``ValueError``: it names none; the error does not show the text.
    """
    parts = _PARTS.match(text)
    database = unquote((parts and parts["database"]) or "")
    if parts and parts["driver"] in DRIVERS and database not in {"", ":memory:"} and "\0" not in database:
        with suppress(ValueError):
            if parts["port"] is None or int(parts["port"]) in PORTS:
                return text
    raise ValueError(FORM)
