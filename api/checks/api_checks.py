"""The checks that the api makes where it runs, for the console: store, identity provider, Kafka, redrives."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

from sqlalchemy import create_engine, text
from sqlalchemy.exc import SQLAlchemyError

from api.auth.identity_provider import UNREADABLE, IdentityProvider
from api.auth.settings import OidcSettings
from api.checks import Finding, fail, ok, short
from api.checks.kafka import kafka
from api.checks.redrive import redrive
from api.settings import ApiSettings
from deadwatch.runtime.clock import monotonic_ms
from deadwatch.store import versions
from deadwatch.store.address import SQLITE
from deadwatch.store.engine import POSTGRESQL, parse_url, shown
from deadwatch.store.trouble import line
from deadwatch.store.versions import Kind

READS_ONLY: Final = "SHOW transaction_read_only"
"""Of PostgreSQL: on where the server is a replica, too."""


def store(store_url: str) -> Iterator[Finding]:
    """The store answers, on a server that writes; it has this program's version or is still to be made."""
    url = parse_url(store_url)
    if url.drivername == SQLITE and not Path(url.database or "").exists():
        yield ok("store", "does not exist yet, streaming creates it")
        return
    arguments = {} if url.drivername == SQLITE else dict(POSTGRESQL)
    engine = create_engine(url, hide_parameters=True, connect_args=arguments)
    try:
        with engine.connect() as connection:
            found = versions.state(connection)
            reads_only = connection.dialect.name != SQLITE and connection.scalar(text(READS_ONLY)) == "on"
    except SQLAlchemyError as error:
        yield fail("store", f"{shown(url)}: {line(error)}", "check store_url and the database it names")
        return
    finally:
        engine.dispose()
    if reads_only:
        yield fail("store", f"{shown(url)} is read-only", "name the primary server in store_url")
        return
    yield _finding(found, shown(url), by_itself=url.drivername == SQLITE)


def _finding(found: versions.State, where: str, *, by_itself: bool) -> Finding:
    known = versions.known()[0]
    seen = f"{where}, version {found.version or 'none'}"
    match found.kind:
        case Kind.CURRENT:
            return ok("store", seen)
        case Kind.EMPTY:
            return ok("store", f"{where} is empty, streaming creates the tables")
        case Kind.OLDER if by_itself:
            return ok("store", f"{seen}, streaming brings it to {known}")
        case Kind.OLDER:
            return fail("store", f"{seen}, this program knows {known}", f"run `{versions.UPGRADE}`")
        case Kind.NEWER:
            return fail("store", f"{seen}, this program knows {known}", "install a newer version")
        case Kind.FOREIGN:
            return fail("store", f"{where} holds other tables", "give the store a database of its own")


def identity(settings: OidcSettings) -> Iterator[Finding]:
    """Whether the provider's discovery document can be read, where one is set up."""
    if not settings.enabled:
        return
    try:
        with closing(IdentityProvider(settings, monotonic_ms)) as provider:
            provider.discover()
    except UNREADABLE as error:
        seen = f"{settings.issuer} does not answer as an identity provider: {short(error)}"
        yield fail("identity", seen, "check oidc.issuer and the network: until then nobody can sign in there")
        return
    signs_in = "people sign in there" if settings.signs_in else "its JWTs are accepted"
    yield ok("identity", f"{settings.issuer} answers, {signs_in}")


FRESH_MS: Final = 10_000
"""Findings are shown again for so long: each run of the checks opens connections."""


class Doctor:
    """Runs the checks for the console; used by many threads, one of which at a time runs them."""

    def __init__(self, settings: ApiSettings, now_ms: Callable[[], int]) -> None:
        self._settings, self._now_ms = settings, now_ms
        self._found: tuple[Finding, ...] = ()
        self._at_ms = -FRESH_MS
        self._lock = threading.Lock()

    def look(self) -> tuple[int, tuple[Finding, ...]]:
        """When the checks ran last, in ms, and what they found; they run again after ``FRESH_MS``."""
        with self._lock:
            if not 0 <= self._now_ms() - self._at_ms < FRESH_MS:
                self._found = tuple(of_api(self._settings))
                self._at_ms = self._now_ms()
            return self._at_ms, self._found


def of_api(settings: ApiSettings) -> Iterator[Finding]:
    """Store, Kafka and what redrives need of it, identity provider."""
    yield from store(settings.store_url)
    yield from kafka(settings.kafka, (partial(redrive, settings),))
    yield from identity(settings.oidc)
