"""A reporter that keeps what is reported, and fails if it is told to; and a library that reports to it."""

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]  # unchecked

from collector.clients import Observation


class Seen:
    def __init__(self, failure: Exception | None = None) -> None:
        self.all: list[Observation] = []
        self._failure = failure

    def report(self, seen: Observation) -> None:
        self.all.append(seen)
        if self._failure is not None:
            raise self._failure


@contextmanager
def instrumented(instrumentor: BaseInstrumentor, reporter: Seen, **options: object) -> Iterator[Seen]:
    instrumentor.instrument(reporters=[reporter], **options)
    try:
        yield reporter
    finally:
        instrumentor.uninstrument()
