"""Errors of redrive orders; each is one sentence for a user. ``kind`` and ``title`` never change."""

from deadwatch.contract.errors import RequestError
from deadwatch.orders.order import Status


class UnknownOrderError(RequestError):
    """No order has this id."""

    kind = "unknown-redrive"
    title = "There is no such redrive"

    def __init__(self, order: str) -> None:
        super().__init__(f"no redrive has the id {order!r}")


class UnknownPolicyError(RequestError):
    """No policy has this id."""

    kind = "unknown-redrive-policy"
    title = "There is no such redrive policy"

    def __init__(self, policy: str) -> None:
        super().__init__(f"no redrive policy has the id {policy!r}")


class PolicyChangedError(RequestError):
    """Somebody else has changed the policy since it was read."""

    kind = "redrive-policy-changed"
    title = "The redrive policy is of another version"

    def __init__(self, policy: str, version: int, expected: int) -> None:
        super().__init__(
            f"redrive policy {policy} is at version {version}, not {expected}: read it again, then change it"
        )


class OrderStateError(RequestError):
    """The order's state does not allow the action."""

    kind = "redrive-state"
    title = "The redrive is in another state"

    def __init__(self, order: str, status: Status, action: str) -> None:
        super().__init__(f"redrive {order} is {status} and cannot be {action}")


class OrderOverlapError(RequestError):
    """An active order may select the same records."""

    kind = "redrive-in-progress"
    title = "Another redrive is active on these records"

    def __init__(self, dlq_topic: str, other: str, status: Status) -> None:
        super().__init__(
            f"redrive {other} is {status} on {dlq_topic} and may select the same records; wait for it or "
            "cancel it. Two may run side by side when both name groups, or offsets that do not meet"
        )


class IdempotencyError(RequestError):
    """The idempotency key was used with another request."""

    kind = "idempotency-key-reused"
    title = "The Idempotency-Key belongs to another request"

    def __init__(self, other: str) -> None:
        super().__init__(
            f"this Idempotency-Key made redrive {other} from another request: a new request needs a new key"
        )


class RefusedOrderError(RequestError):
    """The order cannot be carried out; the text says why and what to do."""

    kind = "redrive-refused"
    title = "The redrive cannot be carried out"


class ConfirmError(RequestError):
    """The order may move or park more records than are confirmed, or than may go without that."""

    kind = "redrive-unconfirmed"
    title = "The redrive may move or park more records than are confirmed"

    def __init__(self, at_most: int, limit: int, confirmed: int | None) -> None:
        found = f"this may move or park {at_most} records"
        super().__init__(
            f'{found}, more than {limit}, and nothing is confirmed: look at the dry run, then say "confirm": '
            f"{at_most}"
            if confirmed is None
            else f"{found}, and {confirmed} are confirmed: look at a new dry run, and say its number and its "
            "cut_off, which leaves out what comes later"
        )
        self.facts = {"at_most": at_most}


class KafkaUnavailableError(RequestError):
    """Kafka does not answer or refuses; the text says what was asked, and the error."""

    kind = "kafka-unavailable"
    title = "Kafka cannot be asked"


class UnreadHistoryError(RequestError):
    """Streaming has not read yet what earlier orders have done: records might be moved twice."""

    kind = "redrive-history-unread"
    title = "It is not known yet what earlier redrives have moved"

    def __init__(self, dlq_topic: str, behind: str) -> None:
        super().__init__(
            f"{behind}, so records of {dlq_topic} that earlier orders have moved might be moved once more: "
            'start streaming or wait until it has caught up, or say "again": true, or --again, to move them '
            "all the same"
        )
