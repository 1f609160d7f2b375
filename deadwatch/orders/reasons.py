"""Why a record of an order is skipped or parked, and what each reason means."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class ParkReason(StrEnum):
    """Why a record is parked: set aside for people."""

    ATTEMPTS_USED_UP = "attempts_used_up"
    ERROR_CLASS_EXCLUDED = "error_class_excluded"


class SkipReason(StrEnum):
    """Why a record is skipped; values of ``outcome_reason``, beside Kafka's word for what it refused."""

    HEADERS_UNREADABLE = "headers_unreadable"
    NO_ORIGIN = "no_origin"
    OTHER_CONSUMERGROUP = "other_consumergroup"
    TARGET_CYCLE = "target_cycle"
    TARGET_INTERNAL = "target_internal"
    TARGET_IS_DLQ = "target_is_dlq"
    TARGET_NOT_ALLOWED = "target_not_allowed"
    TARGET_MISSING = "target_missing"
    RECORD_GONE = "record_gone"
    PAYLOAD_EXPIRED = "payload_expired"
    ORIGIN_COMPACTED = "origin_compacted"
    ORIGIN_MISSING = "origin_missing"
    ALREADY_MOVED = "already_moved"
    ALREADY_PARKED = "already_parked"


MEANINGS: Final[Mapping[SkipReason | ParkReason, str]] = {
    SkipReason.HEADERS_UNREADABLE: "the name of a header is no UTF-8, so that none can be read",
    SkipReason.NO_ORIGIN: "its headers do not tell where it came from, and the target needs it",
    SkipReason.OTHER_CONSUMERGROUP: "a retry topic is asked for, and another group has failed",
    SkipReason.TARGET_MISSING: "the topic does not exist, or we may not see it (DESCRIBE): "
    "create it, or name another one",
    SkipReason.TARGET_IS_DLQ: "dead letters are kept there, parked ones included",
    SkipReason.TARGET_INTERNAL: "the topic is Kafka's own, or holds Deadwatch's events",
    SkipReason.TARGET_NOT_ALLOWED: "no expression of targets_allow matches it; add one",
    SkipReason.TARGET_CYCLE: "the map goes round in a circle, or the topic is the dead letter topic itself",
    SkipReason.RECORD_GONE: "retention took it before it was read",
    SkipReason.ALREADY_MOVED: "an earlier redrive has moved it",
    SkipReason.ALREADY_PARKED: "an earlier redrive has parked it",
    SkipReason.PAYLOAD_EXPIRED: "retention took the record at its origin, which alone has the payload",
    SkipReason.ORIGIN_COMPACTED: "compaction took the record at its origin, which alone has the payload",
    SkipReason.ORIGIN_MISSING: "the topic that it came from has no such record, which alone had the payload",
    ParkReason.ATTEMPTS_USED_UP: "it was moved as often as max_attempts says",
    ParkReason.ERROR_CLASS_EXCLUDED: "its error class is among park_error_classes",
}
"""What each reason means, and where it helps, what to do about it."""
