"""Why the query failed, in one line: what Spark wraps in sixty is unwrapped to its root."""

import re
from dataclasses import dataclass

from kafka.errors import KafkaError
from sqlalchemy.exc import SQLAlchemyError

from streaming.store.trouble import line

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
    causes = [match["text"] for match in CAUSE.finditer(text)]
    root = causes[-1] if causes else next((line for line in text.splitlines() if line.strip()), "")
    message = " ".join(root.split())[:MAX_CHARS] or type(error).__name__
    return Failure(message, isinstance(error, KafkaError) or KAFKA.search(message) is not None)
