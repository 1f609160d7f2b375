"""A reporter that keeps what is reported, and fails if it is told to."""

from collector.clients import Observation


class Seen:
    def __init__(self, failure: Exception | None = None) -> None:
        self.all: list[Observation] = []
        self._failure = failure

    def report(self, seen: Observation) -> None:
        self.all.append(seen)
        if self._failure is not None:
            raise self._failure
