"""What the beans of a Connect worker have counted of its tasks: errors, and what they read and passed on.

A task's beans begin anew with every instance of it, all at 0; nothing in them says when.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2

from collector.sources import jolokia
from collector.sources.abandoned import Key

_ERRORS: Final[Mapping[str, str]] = {
    "record_failures": "total-record-failures",
    "record_errors": "total-record-errors",
    "records_skipped": "total-records-skipped",
    "retries": "total-retries",
    "errors_logged": "total-errors-logged",
    "dlq_produce_requests": "deadletterqueue-produce-requests",
    "dlq_produce_failures": "deadletterqueue-produce-failures",
    "last_error_at_ms": "last-error-timestamp",
}
_SINKS: Final[Mapping[str, str]] = {
    "records": "sink-record-read-total",
    "passed": "sink-record-send-total",
    "held": "sink-record-active-count",
    "turns": "offset-commit-seq-no",
}
_SOURCES: Final[Mapping[str, str]] = {
    "records": "source-record-poll-total",
    "passed": "source-record-write-total",
    "held": "source-record-active-count",
}
_BEANS: Final = (
    ("task-error-metrics", _ERRORS),
    ("sink-task-metrics", _SINKS),
    ("source-task-metrics", _SOURCES),
)
_REQUEST: Final[Sequence[dict[str, Any]]] = (
    *(
        {"type": "read", "mbean": f"kafka.connect:type={bean},*", "attribute": [*attributes.values()]}
        for bean, attributes in _BEANS
    ),
    {"type": "read", "mbean": "java.lang:type=Runtime", "attribute": "StartTime"},
)


@dataclass(frozen=True, slots=True)
class Errors:
    """``task-error-metrics``; ``last_error_at_ms`` is 0 while there was none."""

    record_failures: int = 0
    record_errors: int = 0
    records_skipped: int = 0
    retries: int = 0
    errors_logged: int = 0
    dlq_produce_requests: int = 0
    dlq_produce_failures: int = 0
    last_error_at_ms: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a task has come.

    ``records`` were read (from Kafka by a sink, from its system by a source), ``passed`` on to the sink or
    written to Kafka. ``held`` were read and are neither committed by the sink nor written by the source.
    ``turns`` counts the times a sink came to its commits; it does so even when there is nothing to commit.
    """

    records: int
    passed: int
    held: int
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Beans:
    """The beans of one worker, which was started at ``started_at_ms``."""

    started_at_ms: int = 0
    errors: Mapping[Key, Errors] = field(default_factory=dict)
    progress: Mapping[Key, Progress] = field(default_factory=dict)


def read(client: httpx2.Client, url: str) -> Beans:
    """The beans now. Raises ``JolokiaError``."""
    return jolokia.ask(client, url, _REQUEST, _beans, "of Connect")


def _beans(answers: list[dict[str, Any]]) -> Beans:
    errors, sinks, sources, start = answers
    return Beans(
        int(start["value"]),
        {key: Errors(**values) for key, values in _values(errors, _ERRORS)},
        {
            key: Progress(**values)
            for answer, attributes in ((sinks, _SINKS), (sources, _SOURCES))
            for key, values in _values(answer, attributes)
        },
    )


def _values(answer: dict[str, Any], attributes: Mapping[str, str]) -> Iterator[tuple[Key, dict[str, int]]]:
    if answer["status"] == jolokia.NOT_FOUND:
        return
    for name, values in answer["value"].items():
        properties = jolokia.bean_properties(name)
        key = Key(properties["connector"], properties["task"])
        yield key, {field: int(values[attribute]) for field, attribute in attributes.items()}
