"""A value that is read from the store and is costly to make, cached until something is committed there."""

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from sqlalchemy import Connection

from api.errors import ApiError
from api.store import Store

T = TypeVar("T")


class CommitCache(Generic[T]):
    """A value that is never older than the newest commit before the call; used by many threads.

    Callers that arrive while the value is being read wait for it instead of reading it again, and share its
    failure: otherwise a store that hangs would be waited for once for each caller, one after the other. Where
    something was committed meanwhile, one of them reads it again, for all who waited.
    ``cacheable`` says whether a value may be cached; one that may not is read at every call.
    """

    def __init__(
        self, store: Store, make: Callable[[Connection], T], cacheable: Callable[[T], bool] = lambda _: True
    ) -> None:
        self._store, self._make, self._cacheable = store, make, cacheable
        self._lock = threading.Lock()
        self._cached: tuple[Hashable, T] | None = None
        self._failures: tuple[int, ApiError | None] = 0, None
        self._begun = 0
        """How many readings have begun: one that begins after a call is new enough for it."""

    def get(self) -> T:
        """The value; raises what ``Store.read`` raises."""
        before, _ = self._failures
        begun = self._begun
        with self._lock:
            number, failure = self._failures
            if failure is not None and number != before:
                raise failure
            if self._cached is not None and self._begun > begun:
                return self._cached[1]
            try:
                return self._value()
            except ApiError as error:
                self._failures = number + 1, error
                raise

    def _value(self) -> T:
        state = self._store.state()  # taken before the reading: a commit in between leads to another reading
        if self._cached is None or self._cached[0] != state:
            self._cached, self._begun = None, self._begun + 1
            with self._store.read() as connection:
                value = self._make(connection)
            if not self._cacheable(value):
                return value
            self._cached = state, value
        return self._cached[1]
