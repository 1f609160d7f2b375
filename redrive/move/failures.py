"""Why a transaction failed, and who is to blame for it: a missing right, one of its records, or a target.

Kafka refuses a whole batch for one record of it, or because the batch as a whole is larger than the topic
allows, and the client reports every record of the batch. Where that leaves open which record it was,
``CulpritSearch`` has suspects written alone the next time: of records that are too large the largest, of
those with a wrong timestamp the oldest and the newest. Where Kafka takes that one, the batch was too large,
and smaller batches follow.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from confluent_kafka import KafkaError, Message

from deadwatch.orders.order import Order
from deadwatch.orders.selection import Run, extend
from redrive.librdkafka import OTHER_RECORD_INVALID, PURGED
from redrive.move.rewrite import DeadLetterId, ProducerRecord, wire_size

BATCH_BYTES: Final = 1_000_000
"""A record that is larger is in a batch by itself."""
TOO_LARGE: Final = KafkaError.MSG_SIZE_TOO_LARGE
SHRINK_FACTOR: Final = 4
"""By how much fewer records are written together."""

RIGHTS: Final = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "WRITE on {topic}",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "READ on group {group}",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "WRITE on transactional id {group}",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "IDEMPOTENT_WRITE on the cluster",
}
TIMEOUT_REFUSED: Final = (
    "delivery_timeout_ms and a minute are more than the brokers' transaction.max.timeout.ms: "
    "raise it, then resume; or make an order with less"
)
RECORD_ERRORS: Final = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_TIMESTAMP,
        KafkaError.INVALID_MSG,
        KafkaError.INVALID_MSG_SIZE,
    }
)
"""Kafka will never take the record; any other error but a missing right is the target's, for now."""


class Refusal(NamedTuple):
    """What was reported of one record of a batch that Kafka did not take."""

    dead_letter: DeadLetterId | None
    """None where the record is an event of ours."""
    target: tuple[str, int]
    error: KafkaError
    size: int
    timestamp_ms: int
    keyed: bool


def on_delivery(  # noqa: PLR0917 -- the last two are the client's
    refusals: list[Refusal],
    runs: dict[tuple[str, int], list[Run]],
    dead_letter: DeadLetterId | None,
    timestamp_ms: int,
    headers: list[tuple[str, bytes | None]],
    error: KafkaError | None,
    message: Message,
) -> None:
    """The client's report of one record: Kafka has it, or its batch was refused.

    It refers to no producer, which is closed as soon as nothing refers to it. The message of a record that
    was not taken has neither headers nor a timestamp.
    """
    place = message.topic() or "", message.partition() or 0
    if error is None:
        extend(runs.setdefault(place, []), message.offset() or 0)  # they come in their order
    elif error.code() not in PURGED and error.code() != OTHER_RECORD_INVALID:
        key = message.key()
        size = wire_size(key, message.value(), headers)
        refusals.append(Refusal(dead_letter, place, error, size, timestamp_ms, key is not None))


class AbortedError(Exception):
    """Nothing of the transaction has happened; ``failures`` say which target partition refused or expired.

    ``follows``: after a refusal the client's sequence numbers have a gap, which Kafka refuses once. Nobody is
    to blame for that.
    """

    def __init__(
        self,
        error: KafkaError,
        failures: Mapping[tuple[str, int], KafkaError],
        refusals: Sequence[Refusal] = (),
        *,
        follows: bool = False,
    ) -> None:
        super().__init__(error.str())
        self.error = error
        self.failures = failures
        self.refusals = refusals
        self.follows = follows


class FencedError(Exception):
    """This producer can do no more: another one has the transactional id, or Kafka gave the session up."""


class GivenUpError(Exception):
    """The worker has to stop, and leaves the transaction to Kafka, which has not ended it in time."""


class ForgottenError(Exception):
    """Kafka has forgotten how far the order came: to go on would move records once more."""

    def __init__(self) -> None:
        super().__init__(
            "Kafka has forgotten how far the order came (offsets.retention.minutes without a transaction, or "
            "a topic that was deleted): make a new order; unless it says again, what was moved is left out"
        )


class MadeAnewError(Exception):
    """The dead letter topic was deleted and made anew: its offsets name other records than those selected."""

    def __str__(self) -> str:
        return (
            f"topic {self.args[0]} was deleted and made anew since the order was made: its records are "
            "others; look at a new dry run"
        )


class TruncatedError(MadeAnewError):
    """Kafka has lost the end of a partition, as with the disk of its only replica: what is written there now
    came after the order was made.
    """

    def __str__(self) -> str:
        topic, partition, end, expected = self.args
        return (
            f"partition {partition} of {topic} ends at {end}, before {expected}, where the order ends: Kafka "
            "has lost records, and what came since is no part of the order; look at a new dry run"
        )


class UnmadeTopicError(Exception):
    """A topic of ours is missing, and Kafka refuses to make it."""

    def __init__(self, topic: str, error: KafkaError) -> None:
        super().__init__(error.str())
        self.topic = topic
        self.error = error

    def reason(self, user: str) -> str:
        """One line for people: what ``user`` lacks, or what else Kafka says, and what to do."""
        if self.error.code() in RIGHTS:
            right = f"CREATE on topic {self.topic}"
            return f"Kafka refuses {user} {right}: grant it (or make the topic), then resume"
        return f"Kafka refuses to make topic {self.topic} ({self}): make it, then resume"


class UnansweredError(Exception):
    """The client waits for an answer that does not come any more: this producer can do no more."""


def missing_right(
    error: KafkaError,
    order: str,
    user: str,
    failures: Mapping[tuple[str, int], KafkaError] = {},
    topics: Iterable[str] = (),
) -> str:
    """One line for people: which right is missing, and to whom; "" where none is missing.

    ``failures`` are those of target partitions. Where Kafka does not say which topic it refuses, it is one of
    ``topics``.
    """
    candidates = list(topics) or ["deadwatch.events"]
    unnamed = f"topic {candidates[0]}"
    if len(candidates) > 1:
        unnamed = f"one of the topics {', '.join(candidates)}"
    group = f"deadwatch-redrive-{order}"
    for (topic, _), refused in {**failures, ("", -1): error}.items():
        if refused.code() in RIGHTS:
            right = RIGHTS[refused.code()].format(topic=f"topic {topic}" if topic else unnamed, group=group)
            return f"Kafka refuses {user} {right}: grant it, then resume"
    return ""


def refused_right(error: KafkaError, order: Order, user: str) -> str:
    """As ``missing_right``, for a refusal outside of a transaction, or of the time that it may last."""
    if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
        topic = order.request.dlq_topic
        return f"Kafka refuses {user} READ on topic {topic} or on an origin: grant it, then resume"
    if error.code() == KafkaError.INVALID_TRANSACTION_TIMEOUT:
        return TIMEOUT_REFUSED
    return missing_right(error, order.id, user)


class CulpritSearch:
    """Which records of one order are to blame for refused batches.

    ``alone`` are the dead letters whose records share their batch with no other. ``too_large`` is the least
    size that each topic has refused: no record as large is tried again. ``max_unanswered`` is how many
    records are written together; None: no limit.
    """

    def __init__(self) -> None:
        self.alone: set[DeadLetterId] = set()
        self.too_large: dict[str, int] = {}
        self.max_unanswered: int | None = None
        self._taken: set[DeadLetterId] = set()

    def refused(self, record: ProducerRecord) -> str:
        """The name of Kafka's error where its topic has refused a record that is not larger; else ""."""
        least = self.too_large.get(record.topic)
        too_large = least is not None and wire_size(record.key, record.value, record.headers) >= least
        return _reason(KafkaError(TOO_LARGE)) if too_large else ""

    def judge(self, refusals: Iterable[Refusal]) -> Mapping[DeadLetterId, str] | None:
        """The dead letters whose records are to blame, with Kafka's reason; None where no record is.

        Empty where it is still open which record it is.
        """
        by_target: dict[tuple[str, int], dict[DeadLetterId, Refusal]] = defaultdict(dict)
        for refusal in refusals:
            if refusal.dead_letter is not None and refusal.error.code() in RECORD_ERRORS:
                by_target[refusal.target][refusal.dead_letter] = refusal
        reasons: dict[DeadLetterId, str] = {}
        for group in by_target.values():
            culprits = _culprits(group)
            if not culprits:
                self._suspect(group)
            for dead_letter, refusal in culprits.items():
                reasons[dead_letter] = _reason(refusal.error)
                if refusal.error.code() == TOO_LARGE:
                    topic = refusal.target[0]
                    self.too_large[topic] = min(refusal.size, self.too_large.get(topic, refusal.size))
        return reasons if by_target else None

    def taken(self, dead_letter: DeadLetterId) -> None:
        """Kafka has taken the record, which was alone in its batch."""
        self.alone.discard(dead_letter)
        self._taken.add(dead_letter)

    def committed(self) -> None:
        """The transaction was committed: no record of it is suspected any more."""
        self.alone.clear()
        self._taken.clear()

    def _suspect(self, group: Mapping[DeadLetterId, Refusal]) -> None:
        suspects = _suspects(list(group.values())) - self._taken
        if suspects:
            self.alone |= suspects
        elif all(one.error.code() == TOO_LARGE for one in group.values()):
            together = min(self.max_unanswered or len(group), len(group))
            self.max_unanswered = max(together // SHRINK_FACTOR, 1)
        else:
            self.alone |= group.keys()


def _reason(error: KafkaError) -> str:
    return error.name().lower()


def _culprits(group: Mapping[DeadLetterId, Refusal]) -> dict[DeadLetterId, Refusal]:
    """Of the refusals of one target those whose records are certainly to blame.

    INVALID_RECORD is reported of single records, unless one lacks the key that a compacted topic asks for.
    """
    if len(group) == 1:
        return dict(group)
    invalid = {at: one for at, one in group.items() if one.error.code() == KafkaError.INVALID_RECORD}
    keyless = {at: one for at, one in invalid.items() if not one.keyed}
    large = {
        at: one
        for at, one in group.items()
        if one.error.code() == TOO_LARGE and one.size > BATCH_BYTES  # the client wrote it alone
    }
    return (keyless or invalid) | large


def _suspects(group: Sequence[Refusal]) -> set[DeadLetterId]:
    """If any of these records is to blame, one of the suspects is."""
    codes = {one.error.code() for one in group}
    if codes == {TOO_LARGE}:
        chosen = [max(group, key=lambda one: one.size)]
    elif codes == {KafkaError.INVALID_TIMESTAMP}:
        chosen = [pick(group, key=lambda one: one.timestamp_ms) for pick in (min, max)]
    else:
        chosen = list(group)
    return {one.dead_letter for one in chosen if one.dead_letter is not None}
