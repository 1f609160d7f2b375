"""Which errors of kafka-python and librdkafka mean that time ran out, and what ran out of it.

A test compares these tables with the installed libraries, so that a release which brings a timeout nobody
has classified is noticed. For a commit the ``…_TOO_LATE_TO_COMMIT`` tables decide alone.
"""

from enum import StrEnum
from typing import Final

from kafka import errors


class Timeout(StrEnum):
    """What was waited for in vain; all but ``DELIVERY`` are the words of ``ClientTimeout.timeout``."""

    DELIVERY = "delivery"
    METADATA = "metadata"
    BUFFER = "buffer"
    COMMIT = "commit"
    REQUEST = "request"
    POLL = "poll"


KAFKA_PYTHON: Final = (errors.KafkaTimeoutError, errors.RequestTimedOutError)
"""Time ran out; what was waited for is told by where it is raised."""

KAFKA_PYTHON_REJECTED_SETTINGS: Final = {
    errors.InvalidSessionTimeoutError,
    errors.InvalidTransactionTimeoutError,
}
"""Named like timeouts, but a broker's refusal of a setting."""

KAFKA_PYTHON_TOO_LATE_TO_COMMIT: Final = (errors.CommitFailedError, *KAFKA_PYTHON)
"""The group has moved on without the member, or nobody answered in time."""

LIBRDKAFKA: Final[dict[str, Timeout]] = {
    "_MSG_TIMED_OUT": Timeout.DELIVERY,
    "_TIMED_OUT": Timeout.REQUEST,
    "_TIMED_OUT_QUEUE": Timeout.REQUEST,
    "REQUEST_TIMED_OUT": Timeout.REQUEST,
    "_MAX_POLL_EXCEEDED": Timeout.POLL,
}
"""By ``KafkaError.name()``."""

LIBRDKAFKA_REJECTED_SETTINGS: Final = {"INVALID_SESSION_TIMEOUT", "INVALID_TRANSACTION_TIMEOUT"}

LIBRDKAFKA_TOO_LATE_TO_COMMIT: Final = {
    "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "REBALANCE_IN_PROGRESS",
    *LIBRDKAFKA,
}
