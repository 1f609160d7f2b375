"""The checks that the api can make where it runs, for the console."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from api.checks.finding import Finding
from api.checks.identity import identity
from api.checks.kafka import kafka
from api.checks.redrive import redrive
from api.checks.store import store
from api.settings import ApiSettings

FRESH_MS: Final = 10_000
"""Whoever looks again within it sees what was seen: each look opens connections."""


class Examination:
    """Used by many threads; one of them at a time looks."""

    def __init__(self, settings: ApiSettings, now_ms: Callable[[], int]) -> None:
        self._settings, self._now_ms = settings, now_ms
        self._found: tuple[Finding, ...] = ()
        self._at_ms = -FRESH_MS
        self._lock = threading.Lock()

    def look(self) -> tuple[int, tuple[Finding, ...]]:
        """When was looked, in ms, and what was seen."""
        with self._lock:
            if not 0 <= self._now_ms() - self._at_ms < FRESH_MS:
                self._found = tuple(of_api(self._settings))
                self._at_ms = self._now_ms()
            return self._at_ms, self._found


def of_api(settings: ApiSettings) -> Iterator[Finding]:
    """Store, Kafka, what redrives need of it, identity provider."""
    yield from store(settings.store_url)
    yield from kafka(settings.kafka, (partial(redrive, settings),))
    yield from identity(settings.oidc)
