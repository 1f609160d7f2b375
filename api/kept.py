"""What is made of the store and costs something, kept until something is committed there."""

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from sqlalchemy import Connection

from api.errors import ApiError
from api.store import Store

T = TypeVar("T")


class Kept(Generic[T]):
    """Never older than the newest commit before it was asked for; used by many threads.

    Whoever asks while it is made anew waits for that instead of making it once more, and shares its failure:
    else a store that hangs would be waited for once for everybody, one after the other. ``lasting`` says
    whether a value may be kept; one that may not is made at every call.
    """

    def __init__(
        self, store: Store, make: Callable[[Connection], T], lasting: Callable[[T], bool] = lambda _: True
    ) -> None:
        self._store, self._make, self._lasting = store, make, lasting
        self._lock = threading.Lock()
        self._made: tuple[Hashable, T] | None = None
        self._failures: tuple[int, ApiError | None] = 0, None

    def get(self) -> T:
        """The value; raises as ``Store.read``."""
        before, _ = self._failures
        with self._lock:
            number, failure = self._failures
            if failure is not None and number != before:
                raise failure
            try:
                return self._value()
            except ApiError as error:
                self._failures = number + 1, error
                raise

    def _value(self) -> T:
        state = self._store.state()  # before it is read: what is committed in between is read again
        if self._made is None or self._made[0] != state:
            self._made = None
            with self._store.read() as connection:
                value = self._make(connection)
            if not self._lasting(value):
                return value
            self._made = state, value
        return self._made[1]
