"""Why a query has failed, in one line for the log and the store."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kafka.errors import KafkaError
from polars.exceptions import PanicException
from sqlalchemy.exc import SQLAlchemyError

from deadwatch.store.trouble import line
from streaming.cluster import untimely_topics
from streaming.kafka_source import untimely_record

CAUSE = re.compile(r"^\s*Caused by: (?P<text>.+)$", re.MULTILINE)
KAFKA = re.compile(r"org\.apache\.kafka\.|org\.apache\.spark\.sql\.kafka010\.|Kafka|\[KAFKA_")
NO_SPACE = "No space left on device"
DISK_FULL = "a disk is full, that of the checkpoint or of temporary files: make room there"
MAX_CHARS = 500


@dataclass(frozen=True, slots=True)
class Failure:
    """One line for the log and the store; ``kafka`` tells whether it is the cluster that fails."""

    message: str
    kafka: bool


def failure_of(error: Exception) -> Failure:
    """The innermost cause of ``error``."""
    if isinstance(error, SQLAlchemyError):
        return Failure(line(error)[:MAX_CHARS], kafka=False)
    text = str(error)
    if NO_SPACE in text:
        return Failure(DISK_FULL, kafka=False)
    if (record := untimely_record(text)) is not None:
        return Failure(untimely_topics(dict([record])), kafka=False)
    causes = [match["text"] for match in CAUSE.finditer(text)]
    root = causes[-1] if causes else next((line for line in text.splitlines() if line.strip()), "")
    message = " ".join(root.split())[:MAX_CHARS] or type(error).__name__
    return Failure(message, isinstance(error, KafkaError) or KAFKA.search(message) is not None)


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Make a panic of polars an ``Exception``: py4j tells Spark of nothing else, and Spark waits for ever."""
    try:
        yield
    except PanicException as panic:
        raise RuntimeError(f"polars has panicked: {panic}") from panic
