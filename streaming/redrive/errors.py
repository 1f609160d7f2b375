"""Errors of redrive orders; each is one sentence for whoever asked. ``kind`` and ``title`` never change.

* RedriveError
  * UnknownOrderError      no order has this id
  * UnknownPolicyError     no policy has this id
  * PolicyChangedError     the policy has been changed since it was read
  * OrderStateError        what is asked for cannot be done in the order's state
  * OrderOverlapError      another order is active on the same records
  * IdempotencyError       the key was used for another request
  * RefusedOrderError      the order cannot be carried out as it is
  * ConfirmError           it would move more than may go unconfirmed
  * FilterError            the filter does not parse, or says something that no record has
  * KafkaUnavailableError  Kafka cannot be asked now, or does not allow it
  * UnreadHistoryError     streaming has not read yet what earlier orders have moved
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from streaming.redrive.order import Status


class RedriveError(Exception):
    """Something that a user is told; ``facts`` are for programs."""

    kind: ClassVar[str]
    title: ClassVar[str]
    facts: Mapping[str, Any] = {}


class UnknownOrderError(RedriveError):
    """No such order."""

    kind = "unknown-redrive"
    title = "There is no such redrive"

    def __init__(self, order: str) -> None:
        super().__init__(f"no redrive has the id {order!r}")
        self.order = order


class UnknownPolicyError(RedriveError):
    """No such policy."""

    kind = "unknown-redrive-policy"
    title = "There is no such redrive policy"

    def __init__(self, policy: str) -> None:
        super().__init__(f"no redrive policy has the id {policy!r}")


class PolicyChangedError(RedriveError):
    """Somebody else was faster."""

    kind = "redrive-policy-changed"
    title = "The redrive policy is of another version"

    def __init__(self, policy: str, version: int, expected: int) -> None:
        super().__init__(
            f"redrive policy {policy} is at version {version}, not {expected}: read it again, then change it"
        )


class OrderStateError(RedriveError):
    """The order is in a state in which this makes no sense."""

    kind = "redrive-state"
    title = "The redrive is in another state"

    def __init__(self, order: str, status: Status, wish: str) -> None:
        super().__init__(f"redrive {order} is {status} and cannot be {wish}")
        self.status = status


class OrderOverlapError(RedriveError):
    """Another order may want the same records."""

    kind = "redrive-in-progress"
    title = "Another redrive is active on these records"

    def __init__(self, dlq_topic: str, other: str, status: Status) -> None:
        super().__init__(
            f"redrive {other} is {status} on {dlq_topic} and may select the same records; wait for it or "
            "cancel it. Two may run side by side when both name groups, or offsets that do not meet"
        )
        self.other = other


class IdempotencyError(RedriveError):
    """One key, two requests."""

    kind = "idempotency-key-reused"
    title = "The Idempotency-Key belongs to another request"

    def __init__(self, other: str) -> None:
        super().__init__(
            f"this Idempotency-Key made redrive {other} from another request: a new request needs a new key"
        )
        self.other = other


class RefusedOrderError(RedriveError):
    """The text says what does not fit and what to do."""

    kind = "redrive-refused"
    title = "The redrive cannot be carried out"


class ConfirmError(RedriveError):
    """Too many records to be moved without being told the number."""

    kind = "redrive-unconfirmed"
    title = "The redrive moves many records and is not confirmed"

    def __init__(self, at_most: int, limit: int, confirmed: int | None) -> None:
        said = "nothing is confirmed" if confirmed is None else f"{confirmed} are confirmed"
        super().__init__(
            f"this may move {at_most} records, more than {limit}, and {said}: look at the dry run, then "
            f'say "confirm": {at_most}'
        )
        self.facts = {"at_most": at_most}


class FilterError(RedriveError):
    """What is wrong with a filter, where (line and column from 1), and what may have been meant."""

    kind = "invalid-filter"
    title = "The filter cannot be used"

    def __init__(self, message: str, line: int = 1, column: int = 1, hint: str = "") -> None:
        text = f"filter, line {line}, column {column}: {message}"
        super().__init__(f"{text}; {hint}" if hint else text)
        self.facts = {"line": line, "column": column, "hint": hint}


class KafkaUnavailableError(RedriveError):
    """The text says what was asked, and what Kafka said."""

    kind = "kafka-unavailable"
    title = "Kafka cannot be asked"


class UnreadHistoryError(RedriveError):
    """Some of the records may have been moved already."""

    kind = "redrive-history-unread"
    title = "It is not known yet what earlier redrives have moved"

    def __init__(self, dlq_topic: str, behind: str) -> None:
        super().__init__(
            f"{behind}, so records of {dlq_topic} that earlier orders have moved might be moved once more: "
            'start streaming or wait until it has caught up, or say "again": true to move them all the same'
        )
